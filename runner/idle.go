package runner

import (
	"slices"

	"udsbench/affinity"
	"udsbench/record"
)

// maxIdleCPUs bounds what looking at idle states costs at a window's edges.
const maxIdleCPUs = 16

// idleUse is how often CPUs have gone into each idle state since boot, or why
// that is not known.
type idleUse struct {
	states []record.Idle
	why    string
}

// idleCPUs are the CPUs whose idle states are looked at: those of the workers.
// nil where they may be on any of too many.
func (r *run) idleCPUs() []int {
	var cpus []int
	for i := range r.workers() {
		if c := r.cpu(i); c >= 0 && !slices.Contains(cpus, c) {
			cpus = append(cpus, c)
		}
	}
	if len(cpus) == 0 {
		cpus, _ = affinity.Mask()
	}
	if len(cpus) > maxIdleCPUs {
		return nil
	}
	return cpus
}

// since is what happened from u to the later reading.
func (u idleUse) since(later idleUse) (use []record.Idle, why string) {
	switch {
	case u.why != "":
		return nil, u.why
	case later.why != "":
		return nil, later.why
	case len(u.states) == 0 || len(u.states) != len(later.states):
		return nil, "nothing was read at one of the window's edges"
	}
	for i, s := range later.states {
		s.Entries -= u.states[i].Entries
		s.TimeNS -= u.states[i].TimeNS
		use = append(use, s)
	}
	return use, ""
}
