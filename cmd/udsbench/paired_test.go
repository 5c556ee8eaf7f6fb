package main

import (
	"strings"
	"testing"

	"udsbench/compare"
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
	levels := compare.PairedLevels(runs, compare.DefaultThreshold)
	if len(levels) != 1 || levels[0].Before != "64" || levels[0].After != "64k" && levels[0].After != "65536" && levels[0].After != "64KiB" {
		t.Fatalf("levels: %+v", levels)
	}
	if p := levels[0]; p.Verdict != compare.Slower || p.Sets < 3 {
		t.Errorf("a message a thousand times as long is %s in %d sets", p.Verdict, p.Sets)
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
	for _, p := range compare.PairedLevels(runs, compare.DefaultThreshold) {
		if p.Verdict.Moved() {
			t.Errorf("a cell is %s than itself: %+v", p.Verdict, p.Diff)
		}
	}
}

// Whole runs of a cell against itself. One comparison in twenty may raise an
// alarm by chance; two in a row may not.
func TestABSelf(t *testing.T) {
	alarm := false
	for range 2 {
		dir := tempDir(t)
		r := udsbench(t, dir, "run", "--workload", "pingpong", "--placement", "same-cpu", "--ab-self", "--runs", "5", "--window", "60ms", "--slice", "20ms", "--out", "session")
		if r.status != 0 || !strings.Contains(r.out, "before: A") || !strings.Contains(r.out, "after:  B") {
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
