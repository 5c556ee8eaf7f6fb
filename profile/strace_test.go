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
	// One read finds nothing, and a poll follows; another is in no whole exchange.
	if n := seen.Waits * float64(seen.Exchanges); math.Abs(n-2) > 1e-9 {
		t.Errorf("%.2f waiting calls, want 2", n)
	}
	// Two logins and four queries that are whole, with a poll, a read that finds
	// nothing and a futex among their calls.
	if n := seen.AllCalls() * float64(seen.Exchanges); math.Abs(n-25) > 1e-9 {
		t.Errorf("%.2f calls: %s", n, seen.CallText())
	}
	if p.IO != Poll || seen.ReadNS < 99_000 || seen.ReadNS > 101_000 {
		t.Errorf("io %s, %d ns between reads", p.IO, seen.ReadNS)
	}
}

// Connections of processes that a server forks have equal descriptors; each is
// told apart, whether by the forks in the log or by what strace -y says.
func TestForkingServer(t *testing.T) {
	check := func(name string, p *Profile, seen *Seen, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if seen.Connections != 3 || seen.Processes != 3 || seen.Exchanges != 18 || seen.AllCalls() != 3 {
			t.Errorf("%s: %d exchanges on %d connections of %d processes, %.3f calls", name, seen.Exchanges, seen.Connections, seen.Processes, seen.AllCalls())
		}
		for _, x := range p.Exchanges { // each client asks for one size
			if x.Weight != 6 || len(x.Request) != 1 || len(x.Request[0]) != 1 || x.Response[0][0] != x.Request[0][0]+96 {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if len(p.Exchanges) != 3 || p.Header != 4 {
			t.Errorf("%s: %d kinds, header %d", name, len(p.Exchanges), p.Header)
		}
	}
	for _, name := range []string{"forking", "forking-y"} {
		p, seen := fromLog(t, name)
		check(name, p, seen, nil)
	}
	// Without the forks, what -y says is enough; else it is said what is missing.
	without := func(name string) (*Profile, *Seen, error) {
		text, err := os.ReadFile("testdata/strace/" + name + ".strace")
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "clone") {
				kept = append(kept, line)
			}
		}
		return FromStrace(strings.NewReader(strings.Join(kept, "")))
	}
	p, seen, err := without("forking-y")
	if err == nil {
		seen.Processes = 3 // of which nothing is known then
	}
	check("forking-y without clone", p, seen, err)
	if _, _, err := without("forking"); err == nil || !strings.Contains(err.Error(), "after thread") || !strings.Contains(err.Error(), "or with strace -y") {
		t.Errorf("forking without clone: %v", err)
	}
}

// A reply counts however it is sent, and calls of threads that serve nobody do not.
func TestEveryWayToSend(t *testing.T) {
	for _, name := range []string{"senders", "senders-y"} {
		p, seen := fromLog(t, name)
		if seen.Connections != 7 || seen.Exchanges != 35 || seen.Processes != 1 {
			t.Errorf("%s: %d exchanges on %d connections of %d processes", name, seen.Exchanges, seen.Connections, seen.Processes)
		}
		// Clients ask for 20 to 80 bytes behind a header of 4, in turn served by
		// sendfile, splice, sendmmsg, writev, preadv2 and pwritev2, recvmmsg, and
		// with a look ahead (MSG_PEEK) that takes nothing.
		sizes := map[string]bool{}
		for _, x := range p.Exchanges {
			sizes[x.Name] = true
		}
		for _, want := range []string{"24-to-120", "34-to-130", "44-to-140", "54-to-150", "64-to-160", "74-to-170", "84-to-180"} {
			if !sizes[want] {
				t.Errorf("%s: no exchange %s among %v", name, want, sizes)
			}
		}
		each := 5.0 / 35 // of what one connection does once an exchange
		for call, want := range map[string]float64{
			"sendfile": each, "splice": 2 * each, "sendmmsg": each, "writev": each, "preadv2": 2 * each, "pwritev2": each,
			"recvmmsg": 2 * each, "recvfrom": each, "read": 10 * each, "write": 2 * each, "pwrite64": 0, "eventfd2": 0, "pipe2": 0,
		} {
			if got := seen.Calls[call]; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %.3f calls of %s an exchange, want %.3f", name, got, call, want)
			}
		}
		if seen.Elsewhere < 60 { // of the thread that talks to itself
			t.Errorf("%s: only %d calls belong to no exchange", name, seen.Elsewhere)
		}
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
