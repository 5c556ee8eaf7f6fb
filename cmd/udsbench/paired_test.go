package main

import (
	"encoding/json"
	"strings"
	"testing"

	"udsbench/compare"
	"udsbench/record"
)

// Levels that take turns: each set of processes gives a record a level, with
// the slices of its own turns; what differs for sure is said, A/A is not.
func TestPairedLevels(t *testing.T) {
	dir := tempDir(t)
	r := udsbench(t, dir, "run", "--workload", "pingpong", "--placement", "same-cpu", "--clock", "none", "--model", "process",
		"--request", "64,65536", "--paired", "request", "--runs", "4", "--window", "300ms", "--json", "--out", "session")
	if r.status != 0 {
		t.Fatal(r)
	}
	runs := records(t, r.out)
	if len(runs) != 8 {
		t.Fatalf("%d records, want 4 sets of 2 levels", len(runs))
	}
	for _, x := range runs {
		if x.Paired == nil || x.Paired.Factor != "request" || x.Paired.Levels != 2 || x.Paired.Rounds != 30 || len(x.Slices) != 30 {
			t.Errorf("seq %d: %+v with %d slices", x.Seq, x.Paired, len(x.Slices))
		}
		if x.Unavailable["host"] == "" {
			t.Errorf("seq %d: what the host did cannot be told apart by whose turn it was", x.Seq)
		}
	}
	v := verdicts(t, udsbench(t, dir, "compare", "session", "--json"))
	if len(v) != 1 || v[0].Sides != [2]string{"64", "64KiB"} || v[0].Ratio > 0.9 || v[0].Verdict != compare.Slower && v[0].Verdict != compare.Undecided {
		t.Errorf("a message a thousand times as long: %+v", v)
	}
}

func TestPairedWithItself(t *testing.T) {
	dir := tempDir(t)
	r := udsbench(t, dir, "run", "--workload", "pingpong", "--placement", "same-cpu", "--paired", "nothing", "--runs", "4", "--window", "300ms", "--json", "--out", "session")
	if r.status != 0 {
		t.Fatal(r)
	}
	runs := records(t, r.out)
	if len(runs) != 8 || runs[0].Paired.Level != "A" || runs[1].Paired.Level != "B" {
		t.Fatalf("%d records", len(runs))
	}
	for _, v := range verdicts(t, udsbench(t, dir, "compare", "session", "--json")) {
		if v.Verdict.Moved() {
			t.Errorf("a cell is %s than itself: %+v", v.Verdict, v)
		}
	}
}

// Whole runs of a cell against itself. One comparison in twenty may raise an
// alarm by chance; two in a row may not.
func TestABSelf(t *testing.T) {
	alarm := false
	for range 2 {
		dir := tempDir(t)
		r := udsbench(t, dir, "run", "--workload", "pingpong", "--placement", "same-cpu", "--ab-self", "--runs", "5", "--window", "300ms", "--out", "session")
		starved := r.status == 1 && strings.Contains(r.out, "starved") // by others on this machine: that run has no figure
		if r.status != 0 && !starved || !strings.Contains(r.out, "before: A") || !strings.Contains(r.out, "after:  B") {
			t.Fatal(r)
		}
		if c := udsbench(t, dir, "compare", "session", "--json"); c.status != 0 || !strings.Contains(c.out, `"sides":["A","B"]`) {
			t.Fatal(c)
		}
		if alarm = strings.Contains(r.out, "1 faster") || strings.Contains(r.out, "1 slower"); !alarm {
			return
		}
		t.Log(r)
	}
	t.Error("two alarms in two comparisons of a cell with itself")
}

// verdict is what compare --json says of a cell.
type verdict struct {
	Cell    record.Cell
	Sides   [2]string
	Unit    string
	Before  struct{ N int }
	Ratio   float64
	CI      []float64
	Verdict compare.Verdict
	Reasons []struct {
		Kind, Text string
		Data       json.RawMessage
	}
}

func verdicts(t *testing.T, r result) (all []verdict) {
	t.Helper()
	if r.status != 0 {
		t.Fatal(r)
	}
	d := json.NewDecoder(strings.NewReader(r.out))
	for d.More() {
		var v verdict
		if err := d.Decode(&v); err != nil {
			t.Fatal(err, r)
		}
		all = append(all, v)
	}
	return all
}
