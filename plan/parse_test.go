package plan

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Each line of testdata/values.tsv: flag, value as written, value as read or
// "! words of the error".
func TestSetReadsValues(t *testing.T) {
	f, err := os.Open("testdata/values.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() == "" || s.Text()[0] == '#' {
			continue
		}
		cols := strings.Split(s.Text(), "\t")
		if len(cols) != 3 {
			t.Fatalf("%q has %d columns", s.Text(), len(cols))
		}
		n++
		flag, value, want := cols[0], cols[1], cols[2]
		got, err := set(flag, value)
		if words, bad := strings.CutPrefix(want, "! "); bad {
			var usage *UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), words) {
				t.Errorf("--%s %q gives %q, %v, want an error with %q", flag, value, got, err, words)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("--%s %q gives %q, %v, want %q", flag, value, got, err, want)
		}
	}
	if n < 30 {
		t.Errorf("%d lines", n)
	}
}

// set reads value as flag takes it, and writes it back.
func set(flag, value string) (string, error) {
	for _, name := range SettingFlags {
		if name == flag {
			var s Settings
			err := s.Set(flag, value)
			words := s.Paired + s.IdleLatency + s.Instrument
			return strings.TrimSpace(fmt.Sprintln(s.Runs, s.Discard, s.Window, s.Warmup, s.Slice, s.Ops, s.Seed, words)), err
		}
	}
	var l Lists
	if err := l.Set(flag, value); err != nil {
		return "", err
	}
	for _, a := range l.axes() {
		if vs := *a.list(&l); len(vs) > 0 {
			return strings.Join(vs, "|"), nil
		}
	}
	return "", nil
}

func TestFormatSizeIsReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 64, 1000, 1023, 1024, 1025, 4096, 1 << 20, 1<<20 + 1, 3 << 19} {
		got, err := Size("request", FormatSize(n), 0, 1<<30)
		if err != nil || got != n {
			t.Errorf("%d is written %s and read %d, %v", n, FormatSize(n), got, err)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"64", "4k", "1MiB", "1kB", "", "-1", "9223372036854775807k", "0x10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Size("request", s, 1, MaxMessage)
		if err == nil && (n < 1 || n > MaxMessage) {
			t.Fatalf("%q is %d", s, n)
		}
	})
}

func FuzzLists(f *testing.F) {
	f.Add("workload", "pingpong,fanin")
	f.Add("parallel", "1,10,100")
	f.Add("param", "backlog=1,2")
	f.Add("nice-client", "-20")
	f.Add("placement", "cpus=0-3+8")
	f.Add("one-process", "yes,no")
	f.Fuzz(func(t *testing.T, flag, value string) {
		in := Input{Settings: DefaultSettings()}
		in.Settings.Runs = 1
		in.Given.Workload = []string{"pingpong"}
		if in.Given.Set(flag, value) != nil {
			return
		}
		p, err := Build(in, fake{})
		if err != nil {
			var usage *UsageError
			if !errors.As(err, &usage) {
				t.Fatal(err)
			}
			return
		}
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(text); err != nil {
			t.Fatal(err)
		}
		p.Text(time.Millisecond, 0)
	})
}

func FuzzDecode(f *testing.F) {
	in := basic(f, "workload pingpong", "parallel 1,2")
	p, err := Build(in, fake{})
	if err != nil {
		f.Fatal(err)
	}
	text, _ := p.Encode()
	f.Add(text)
	f.Add([]byte(`{"schema":1,"order":[[0]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := Decode(text); err == nil {
			for s := range p.Steps() {
				_ = p.Cells[s.Cell]
			}
		}
	})
}
