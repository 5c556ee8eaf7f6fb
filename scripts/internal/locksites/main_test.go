package main

import (
	"strings"
	"testing"
)

// Every row can fail: by waits that should not be, by none that should be, and by
// a twin that has them too.
func TestEveryRowCanFail(t *testing.T) {
	twins := map[string][]string{}
	for _, line := range strings.Split(cases, "\n") { // as many as any row asks for
		if line != "" && line[0] != '#' {
			twins[strings.Fields(line)[0]] = []string{"--workload pingpong", "--model process"}
		}
	}
	rows, err := read(cases, twins)
	if err != nil || len(rows) < 20 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	many, none := seen{waits: 10_000, ops: 100_000}, seen{ops: 100_000}
	for _, r := range rows {
		for _, x := range []struct {
			a, b  seen
			right bool
		}{
			{many, none, r.enough > 0},
			{none, none, r.enough == 0},
			{many, many, false},
		} {
			if reading, right := r.verdict(x.a, x.b, max(r.enough, 2)); right != x.right {
				t.Errorf("%s: %d waits and %d in the twin: %q", r.flags, x.a.waits, x.b.waits, reading)
			}
		}
		if r.enough > 2 {
			if reading, right := r.verdict(none, none, r.enough-1); !right || !strings.Contains(reading, r.why) {
				t.Errorf("%s: with fewer CPUs than show it: %q", r.flags, reading)
			}
		}
	}
}

func TestTwinBesideItsRow(t *testing.T) {
	for _, x := range [][3]string{
		{"storm --param acceptors=4", "--transport tcp", "storm --param acceptors=4 --transport tcp"},
		{"peek --param depth=64", "--param depth=0", "peek --param depth=0"},
		{"peek --param depth=64", "--param object=file", "peek --param depth=64 --param object=file"},
		{"churn --model thread", "--model process", "churn --model process"},
		{"epfan --param waiters=4", "--workload fanin", "fanin"},
		{"fanin-dgram --param reader=slow", "--workload pingpong --transport unix-dgram", "pingpong --transport unix-dgram"},
	} {
		if got := beside(x[0], x[1]); got != x[2] {
			t.Errorf("%s beside %s: %q, want %q", x[1], x[0], got, x[2])
		}
	}
	for text, want := range map[string]string{
		"a\t3\tf\t2\t":     "has 1 twins, not number 3",
		"a\t1\tf\tmany\tx": "is neither none nor a number of CPUs",
		"a\t1\tf\tnone\t":  "no reason",
		"a\t1\t\t2\t":      "no function",
		"a\t1\tf":          "five fields",
	} {
		if _, err := read(text, map[string][]string{"a": {"--model process"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
