package topology

import (
	"errors"
	"fmt"
)

// Rung is one step of a preset's ladder: a placement by its name, and what it
// is called on the machine that the preset was made for. Missing says why the
// machine at hand does not have it, and is empty where it does.
type Rung struct {
	Label     string
	Placement string
	Missing   string
}

// Expand resolves a preset to the rungs of its ladder, nearest first, those
// that this machine lacks among them with the reason; any other placement is
// a ladder of one rung.
//
// opteron asks what a machine of many nodes asks: same core, sibling core,
// then every class of NUMA distance. htt asks what hyper-threading asks: same
// thread, sibling thread, other core, other package. matrix is every pair of
// CPUs, one pair to a rung, or on a machine of more than 16 allowed CPUs one
// pair of each class of distance.
func (m *Machine) Expand(name string) ([]Rung, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	var rungs []Rung
	switch name {
	case "opteron":
		rungs = []Rung{{Label: "same core", Placement: "same-cpu"}, {Label: "sibling core", Placement: "core"}}
		for n := range max(1, len(m.Hops())) {
			rungs = append(rungs, Rung{Label: count(n+1, "hop", "hops"), Placement: fmt.Sprintf("hop=%d", n+1)})
		}
		if len(m.Hops()) == 0 {
			rungs = append(rungs, Rung{Label: "other package", Placement: "cross"})
		}
	case "htt":
		rungs = []Rung{{Label: "same thread", Placement: "same-cpu"}, {Label: "sibling thread", Placement: "smt"},
			{Label: "other core", Placement: "core"}, {Label: "other package", Placement: "cross"}}
	case "matrix":
		return m.matrix(), nil
	default:
		return []Rung{{Label: name, Placement: name}}, nil
	}
	pair := []Worker{{Role: Client, Pair: 0}, {Role: Server, Pair: 0}}
	for i := range rungs {
		if _, err := m.Place(rungs[i].Placement, pair); err != nil {
			rungs[i].Missing = errors.Unwrap(err).Error()
		}
	}
	return rungs, nil
}
