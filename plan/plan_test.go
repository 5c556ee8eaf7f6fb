package plan

import (
	"bufio"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"udsbench/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// read parses the lines of a case: "FLAG VALUES" for the command line, a line
// "suite" before the products of a suite and "---" between them, "given"
// before the command line's own.
func read(t *testing.T, text string) Input {
	t.Helper()
	in := Input{Settings: DefaultSettings()}
	into := &in.Given
	s := bufio.NewScanner(strings.NewReader(text))
	for s.Scan() {
		name, value, _ := strings.Cut(strings.TrimSpace(s.Text()), " ")
		var err error
		switch {
		case name == "" || name[0] == '#':
		case name == "suite" || name == "---":
			in.Suite = append(in.Suite, Lists{})
			into = &in.Suite[len(in.Suite)-1]
		case name == "given":
			into = &in.Given
		case slices.Contains(SettingFlags, name):
			err = in.Settings.Set(name, value)
		default:
			err = into.Set(name, strings.TrimSpace(value))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (go test -update writes it anew):\n%s", path, got)
	}
}

// Each case is a file of lists, with the dry run that comes of it, or the
// error, beside it.
func TestBuild(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.lists")
	if len(files) < 10 {
		t.Fatalf("%d cases in testdata", len(files))
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			in := read(t, string(text))
			p, err := Build(in, fake{})
			var got string
			if err != nil {
				var usage *UsageError
				if !errors.As(err, &usage) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q is not one line of wrong usage", err)
				}
				got = "error: " + err.Error() + "\n"
			} else {
				got = p.Text(5*time.Millisecond, 20*time.Millisecond)
			}
			golden(t, strings.TrimSuffix(f, ".lists")+".golden", got)
		})
	}
}

func basic(t testing.TB, lists ...string) Input {
	in := Input{Settings: DefaultSettings()}
	for _, l := range lists {
		name, value, _ := strings.Cut(l, " ")
		if err := in.Given.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func TestOrderIsByBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.IntRange(1, 40).Draw(t, "cells")
		runs := rapid.IntRange(1, 10).Draw(t, "runs")
		seed := rapid.Uint64().Draw(t, "seed")
		blocks := order(cells, runs, seed)
		if len(blocks) != runs {
			t.Fatalf("%d blocks for %d runs", len(blocks), runs)
		}
		for b, block := range blocks {
			sorted := slices.Sorted(slices.Values(block))
			for i, c := range sorted {
				if c != i || len(block) != cells {
					t.Fatalf("block %d is %v, must hold each of %d cells once", b, block, cells)
				}
			}
		}
		more := order(cells, runs+1, seed)
		for b := range blocks {
			if !slices.Equal(blocks[b], more[b]) {
				t.Fatalf("one more run changed block %d", b)
			}
		}
	})
}

func TestSeedMovesTheOrder(t *testing.T) {
	if slices.EqualFunc(order(20, 3, 1), order(20, 3, 2), slices.Equal) {
		t.Error("seeds 1 and 2 give one order")
	}
	a := order(20, 2, 1)
	if slices.Equal(a[0], a[1]) {
		t.Error("both blocks have one order")
	}
}

func TestStepsCountUp(t *testing.T) {
	p, err := Build(basic(t, "workload pingpong", "parallel 1,2,4"), fake{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := range p.Steps() {
		if s.Seq != n || s.Block != n/3 || s.Cell != p.Order[s.Block][n%3] {
			t.Fatalf("step %d is %+v", n, s)
		}
		n++
	}
	if n != p.Len() || n != 30 {
		t.Errorf("%d steps of %d", n, p.Len())
	}
}

func TestHashCoversWhatIsMeasured(t *testing.T) {
	build := func(change func(*Input)) string {
		in := basic(t, "workload pingpong,fanin", "parallel 1,2")
		change(&in)
		p, err := Build(in, fake{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash
	}
	base := build(func(*Input) {})
	same := map[string]func(*Input){
		"nothing": func(*Input) {},
		"discard": func(in *Input) { in.Settings.Discard = 1 },
		"spelling": func(in *Input) {
			in.Given.Request = []string{"64B"}
			in.Given.Parallel = []string{"01", "2"}
		},
	}
	for name, change := range same {
		if build(change) != base {
			t.Errorf("%s changes the hash", name)
		}
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range map[string]func(*Input){
		"runs":     func(in *Input) { in.Settings.Runs++ },
		"window":   func(in *Input) { in.Settings.Window *= 2 },
		"warmup":   func(in *Input) { in.Settings.Warmup *= 2 },
		"slice":    func(in *Input) { in.Settings.Slice = 50 * time.Millisecond },
		"ops":      func(in *Input) { in.Settings.Ops = 5 },
		"seed":     func(in *Input) { in.Settings.Seed++ },
		"request":  func(in *Input) { in.Given.Request = []string{"1"} },
		"parallel": func(in *Input) { in.Given.Parallel = []string{"1", "3"} },
	} {
		h := build(change)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}

func TestDecode(t *testing.T) {
	p, err := Build(basic(t, "workload pingpong,fanin", "transport unix-stream,tcp,pipe", "parallel 1,2"), fake{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := back.Encode(); string(again) != string(text) {
		t.Errorf("came back as\n%s\nfrom\n%s", again, text)
	}
	for name, change := range map[string][2]string{
		"another window": {`"window_ns":1000000000`, `"window_ns":2000000000`},
		"no such cell":   {`"order":[[`, `"order":[[99,`},
		"a later schema": {`{"schema":1`, `{"schema":99`},
		"half of it":     {`"order"`, ``},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := Decode([]byte(changed)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestProcesses(t *testing.T) {
	for _, c := range []struct {
		cell record.Cell
		want int
	}{
		{record.Cell{Parallel: 100, Model: "process", ServerModel: "process"}, 200},
		{record.Cell{Parallel: 100, Model: "process", ServerModel: "thread"}, 101},
		{record.Cell{Parallel: 100, Model: "goroutine", ServerModel: "goroutine"}, 2},
		{record.Cell{Parallel: 100, Model: "thread", ServerModel: "thread", OneProcess: true}, 1},
	} {
		if got := Processes(c.cell); got != c.want {
			t.Errorf("%+v starts %d processes, want %d", c.cell, got, c.want)
		}
	}
}

func TestEstimate(t *testing.T) {
	in := basic(t, "workload pingpong", "parallel 10")
	in.Settings.Runs = 4
	p, err := Build(in, fake{})
	if err != nil {
		t.Fatal(err)
	}
	d, known := p.Estimate(5*time.Millisecond, 10*time.Millisecond)
	if want := 4 * (time.Second + 200*time.Millisecond + 20*5*time.Millisecond + 10*time.Millisecond); !known || d != want {
		t.Errorf("%v (%v), want %v", d, known, want)
	}
	p.Ops = 1000
	if _, known := p.Estimate(0, 0); known {
		t.Error("a time is given for runs that end by operations")
	}
}

// Every combination is a cell, the same as one, or left out: none is lost.
func TestNothingIsLost(t *testing.T) {
	some := func(t *rapid.T, name string, all ...string) string {
		vs := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, len(all), rapid.ID).Draw(t, name)
		return strings.Join(vs, ",")
	}
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Settings: DefaultSettings(), Suite: []Lists{{}}}
		l := &in.Suite[0]
		for _, f := range [][]string{
			{"workload", "pingpong", "fanin", "dgram"},
			{"transport", "unix-stream", "unix-dgram", "tcp", "pipe"},
			{"address", "path", "socketpair", "inet"},
			{"parallel", "1", "10"},
		} {
			if err := l.Set(f[0], some(t, f[0], f[1:]...)); err != nil {
				t.Fatal(err)
			}
		}
		want := len(l.Workload) * len(l.Transport) * len(l.Address) * len(l.Parallel)
		p, err := Build(in, fake{})
		if err != nil {
			var usage *UsageError
			if !errors.As(err, &usage) {
				t.Fatal(err)
			}
			return
		}
		if got := len(p.Cells) + len(p.LeftOut); got != want {
			t.Fatalf("%d cells and %d left out of %d combinations", len(p.Cells), len(p.LeftOut), want)
		}
		for _, c := range p.Cells {
			if err := (fake{}).Check(c); err != nil {
				t.Fatalf("%+v is planned: %v", c, err)
			}
		}
	})
}

func TestTooManyCombinations(t *testing.T) {
	in := basic(t, "workload pingpong")
	for i := range 2000 {
		in.Given.Request = append(in.Given.Request, FormatSize(i+1))
		in.Given.Parallel = append(in.Given.Parallel, FormatSize(i+1))
	}
	if _, err := Build(in, fake{}); err == nil || !strings.Contains(err.Error(), "combinations") {
		t.Errorf("4 million combinations give %v", err)
	}
}
