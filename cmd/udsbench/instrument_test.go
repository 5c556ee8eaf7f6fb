package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"udsbench/lockwait"
	"udsbench/record"
)

// What this system's lock sources cannot do is refused before anything is
// measured, with what they can.
func TestInstrumentRefused(t *testing.T) {
	home := tempDir(t)
	lacking := ""
	for _, name := range lockwait.Names() {
		if _, _, err := lockwait.Choose(lockwait.Options{Source: name}); err != nil {
			lacking = name
		}
	}
	for value, want := range map[string]string{
		"locks+source=nonsense":        "this system has " + strings.Join(lockwait.Names(), ", "),
		"locks+source=sample+nostacks": "has no options: leave nostacks out",
		"locks+nostacks+contested":     "option",
		"locks+depth=3":                "from 8 to 127",
		"all+source=" + lacking:        "is not available: ",
	} {
		if strings.HasSuffix(value, "=") {
			continue // every source is available here
		}
		r := udsbench(t, home, "run", "--workload", "pingpong", "--parallel", "1", "--runs", "1", "--window", "50ms", "--instrument", value, "--out", "none")
		if r.status != 2 || !strings.Contains(r.err, want) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || r.out != "" {
			t.Errorf("%s: status %d, %q, want %q", value, r.status, r.err, want)
		}
		if _, err := os.Stat(filepath.Join(home, "none")); err == nil {
			t.Fatalf("%s: a session was begun", value)
		}
	}
}

// A source that is asked for by name is the one that is taken, by flag as by
// suite, and the record says how.
func TestInstrumentOptions(t *testing.T) {
	home := tempDir(t)
	file := filepath.Join(home, "one.suite")
	if err := os.WriteFile(file, []byte("# A suite.\nruns 1\nwindow 100ms\nwarmup 20ms\ninstrument locks+source=sample\nworkload pingpong\nparallel 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"flag":  {"--workload", "pingpong", "--parallel", "1", "--runs", "1", "--window", "100ms", "--warmup", "20ms", "--instrument", "locks+source=sample"},
		"suite": {"--suite", file},
	} {
		r := udsbench(t, home, append([]string{"run", "--json", "--out", name}, args...)...)
		if r.status != 0 {
			t.Fatalf("%s: status %d: %s", name, r.status, r.err)
		}
		found := false
		for line := range strings.Lines(r.out) {
			var run record.Run
			if err := json.Unmarshal([]byte(line), &run); err != nil {
				t.Fatal(err)
			}
			for _, i := range run.Instruments {
				found = true
				if i.Source != "sample" || i.Options != "source=sample" || i.Samples == nil {
					t.Fatalf("%s: %+v", name, i)
				}
				// Two workers, and in their processes the Go runtime's threads.
				if *i.Samples > 2**i.Calls {
					t.Errorf("%s: %d threads were looked at in %d rounds: more than the workers", name, *i.Samples, *i.Calls)
				}
			}
		}
		if !found {
			t.Errorf("%s: no instrumented run in\n%s", name, r.out)
		}
	}
	if r := udsbench(t, home, "list"); !strings.Contains(r.out, "+source=NAME") || !strings.Contains(r.out, strings.Join(lockwait.Names(), ", ")) {
		t.Errorf("list does not tell the sources:\n%s", r.out)
	}
	if r := udsbench(t, home, "run", "--help"); !strings.Contains(r.out, "locks+source=NAME") {
		t.Errorf("--help does not tell the options:\n%s", r.out)
	}
}
