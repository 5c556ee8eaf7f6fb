package profile

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fromLog(t *testing.T, name string) (*Profile, *Seen) {
	t.Helper()
	f, err := os.Open("testdata/strace/" + name + ".strace")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, seen, err := FromStrace(f)
	if err != nil {
		t.Fatal(err)
	}
	if q, err := Parse(p.Format()); err != nil || q.Hash() != p.Hash() {
		t.Errorf("%s: what was recorded cannot be read: %v", name, err)
	}
	return p, seen
}

// The sizes are those that the server's own protocol has for these statements.
func TestRecordedServers(t *testing.T) {
	for _, x := range []struct {
		log               string
		request, response float64
	}{
		{"point-select-prepared", 24, 150},
		{"point-select-text", 40, 197},
	} {
		p, seen := fromLog(t, x.log)
		if p.Header != 4 || p.IO != Poll || len(p.Exchanges) != 1 {
			t.Errorf("%s: header %d, io %s, %d kinds of exchange", x.log, p.Header, p.IO, len(p.Exchanges))
		}
		for what, got := range map[string][2]float64{
			"request": {p.RequestBytes(), x.request}, "seen request": {seen.RequestBytes, x.request},
			"response": {p.ResponseBytes(), x.response}, "seen response": {seen.ResponseBytes, x.response},
		} {
			if math.Abs(got[0]/got[1]-1) > 1e-9 {
				t.Errorf("%s: %s of %.3f bytes, want %.0f", x.log, what, got[0], got[1])
			}
		}
		if calls := seen.AllCalls(); calls < 2.9 || calls > 3.3 {
			t.Errorf("%s: %.3f calls an exchange: %s", x.log, calls, seen.CallText())
		}
	}
	p, _ := fromLog(t, "oltp-rw")
	// A transaction: ten selects, four ranges, two updates, delete and insert, and
	// COMMIT with the next BEGIN, which have the same sizes.
	if p.Weighted() || p.Cycle() != 20 {
		t.Errorf("oltp-rw is played in a cycle of %d, want 20:\n%s", p.Cycle(), p.Format())
	}
	kinds := map[string]bool{}
	for _, x := range p.Exchanges {
		kinds[x.Name] = true
	}
	for _, want := range []string{"24-to-150", "32-to-12624", "32-to-37", "14-to-11", "24-to-52", "144-to-52", "24-to-11", "212-to-13"} {
		if !kinds[want] {
			t.Errorf("oltp-rw: no exchange %s among %v", want, kinds)
		}
	}
}

func TestMadeLog(t *testing.T) {
	p, seen := fromLog(t, "made")
	// Three connections; the torn first exchange of 8 and the unanswered end are left out.
	if seen.Connections != 3 || seen.Exchanges != 6 {
		t.Errorf("%d exchanges on %d connections, want 6 on 3", seen.Exchanges, seen.Connections)
	}
	weights := map[string]int{}
	for _, x := range p.Exchanges {
		weights[x.Name] = x.Weight
	}
	if len(weights) != 2 || weights["24-to-150"] != 4 || weights["34-to-11"] != 2 {
		t.Errorf("exchanges %v", weights)
	}
	if q := p.Exchanges[0]; len(q.Response) != 2 || q.Response[0].String() != "100" || q.Response[1].String() != "50" {
		t.Errorf("the reply of 24-to-150 is %v", q.Response)
	}
	// 101 makes a futex call between its second read and its write.
	if n := seen.Calls["futex"] * float64(seen.Exchanges); math.Abs(n-1) > 1e-9 {
		t.Errorf("%.2f futex calls, want 1", n)
	}
	// Two reads find nothing; one poll ends, one is cut off by the end of the log.
	if n := seen.Waits * float64(seen.Exchanges); math.Abs(n-3) > 1e-9 {
		t.Errorf("%.2f waiting calls, want 3", n)
	}
	if p.IO != Poll || seen.ReadNS < 99_000 || seen.ReadNS > 101_000 {
		t.Errorf("io %s, %d ns between reads", p.IO, seen.ReadNS)
	}
}

func TestLogsWithoutAConversation(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "no line of it is strace's",
		"read(3, \"\", 1) = 1\n": "no line of it is strace's",
		"5 1.0 read(3, \"\", 1) = 1\n5 2.0 read(3, \"\", 1) = 1\n": "no exchange of request and reply",
	} {
		if _, _, err := FromStrace(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzFromStrace(f *testing.F) {
	logs, _ := filepath.Glob("testdata/strace/*.strace")
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text[:min(len(text), 4000)]))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, _, err := FromStrace(strings.NewReader(text))
		if err != nil {
			return
		}
		if q, err := Parse(p.Format()); err != nil || q.Hash() != p.Hash() {
			t.Errorf("a recorded profile cannot be read: %v\n%s", err, p.Format())
		}
	})
}
