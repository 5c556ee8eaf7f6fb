package sched

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// Each line of the table: a knob, how it reads, a value, whether it has that
// value, and what undoes setting it.
func TestKnobsAsTheKernelWritesThem(t *testing.T) {
	f, err := os.Open("testdata/knobs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		cols := strings.Split(s.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") {
			continue
		}
		n++
		k := Knob{Name: cols[0]}
		if has := k.has(cols[1], cols[2]); has != (cols[3] == "yes") {
			t.Errorf("%s that reads %q has %s: %v", cols[0], cols[1], cols[2], has)
		}
		if undo := k.opposite(cols[1], cols[2]); undo != cols[4] {
			t.Errorf("%s that reads %q, set to %s: %q undoes it, want %q", cols[0], cols[1], cols[2], undo, cols[4])
		}
	}
	if n < 8 {
		t.Errorf("%d lines", n)
	}
}

func TestKnobsThatAreNone(t *testing.T) {
	for _, name := range []string{"sched/", "sched/../hung_task_panic", "sched/a//b", "sched/.", "sched/no_such_knob"} {
		if k, err := FindKnob(name); err == nil {
			t.Errorf("%s is %+v", name, k)
		}
	}
}

// What undoes a switch is the value that the knob has.
func FuzzKnobText(f *testing.F) {
	f.Add("rr_timeslice_ms", "100", "50")
	f.Add("preempt", "none (voluntary) full", "full")
	f.Add("features", "PLACE_LAG NO_NEXT_BUDDY", "NEXT_BUDDY")
	f.Fuzz(func(t *testing.T, name, text, value string) {
		k := Knob{Name: name}
		undo := k.opposite(text, value)
		if !k.lists() && !k.has(text, undo) {
			t.Errorf("%q is undone by %q, which it has not", text, undo)
		}
		if k.lists() && k.has(text, value) && undo != value {
			t.Errorf("%q has %q already, and %q undoes it", text, value, undo)
		}
	})
}
