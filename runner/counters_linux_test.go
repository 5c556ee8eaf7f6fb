package runner

import (
	"os"
	"strings"
	"testing"
	"time"

	"udsbench/record"
)

// The kernel's own events agree with what the workers know of themselves from
// getrusage and schedstat; those of the processor are there with all their
// threads, or are absent with the reason.
func TestCounters(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_PERFMON")
	}
	o := options(t)
	o.Window, o.Instrument = 400*time.Millisecond, &Instrument{Counters: true}
	r := measure(t, cell(record.Cell{Workload: "fanin", Parallel: 3, ServerModel: "thread"}), o)
	if why := r.Unavailable["counters"]; why != "" {
		t.Fatal(why)
	}
	if r.Kind != record.Instrumented || len(r.Counters) != 2 {
		t.Fatalf("%s run with counters %+v", r.Kind, r.Counters)
	}
	for _, c := range r.Counters {
		role := r.Roles[c.Role]
		if c.Threads != role.Workers || c.Ops == 0 {
			t.Errorf("%s: %d threads, %d operations", c.Role, c.Threads, c.Ops)
		}
		got := map[string]record.Counter{}
		for _, e := range c.Events {
			got[e.Event] = e
			if e.RunningNS == 0 || e.RunningNS > e.EnabledNS {
				t.Errorf("%s: %+v", c.Role, e)
			}
		}
		if role.Time == nil || role.Time.Ops == 0 {
			t.Fatalf("%s: no time", c.Role)
		}
		near := func(event string, per, below, above float64) {
			e, ok := got[event]
			if have := float64(e.Count) / float64(c.Ops); !ok || have < (1-below)*per || have > (1+above)*per {
				t.Errorf("%s: %v %s an operation, %v by its own account", c.Role, have, event, per)
			}
		}
		near("context-switches", float64(role.Switches.Voluntary+role.Switches.Involuntary)/float64(role.Ops), 0.1, 0.1)
		// It stands still while the kernel switches, counters and all.
		near("task-clock", float64(role.Time.OnNS)/float64(role.Time.Ops), 0.5, 0.1)
		if _, ok := got["cycles"]; !ok && !strings.Contains(r.Unavailable["counters.cycles"], "PMU") {
			t.Errorf("no cycles, and the reason is %q", r.Unavailable["counters.cycles"])
		}
	}
	if len(r.Instruments) != 1 || r.Instruments[0].Name != "counters" {
		t.Errorf("%+v", r.Instruments)
	}
}
