package topology

import "fmt"

// maxMatrix is up to how many allowed CPUs the preset matrix takes every pair;
// on larger machines it takes one pair of each class of distance.
const maxMatrix = 16

// matrix is the ladder of every pair of allowed CPUs, a CPU with itself among
// them, or of one representative of each class of distance.
func (m *Machine) matrix() []Rung {
	cpus := m.Allowed()
	var rungs []Rung
	seen := map[string]bool{}
	for i, a := range cpus {
		for _, b := range cpus[i:] {
			class := m.Class(a, b)
			if len(cpus) > maxMatrix && seen[class] {
				continue
			}
			seen[class] = true
			rungs = append(rungs, Rung{Label: class, Placement: PairPlacement(a, b)})
		}
	}
	return rungs
}

// PairPlacement is the placement of one pair: its client on CPU a, its server
// on CPU b.
func PairPlacement(a, b int) string {
	if a == b {
		return fmt.Sprintf("cpus=%d", a)
	}
	return fmt.Sprintf("cpus=%d+%d", a, b)
}

// Class names how far CPUs a and b are apart: the level at which they meet,
// with the NUMA distance where they are on different nodes.
func (m *Machine) Class(a, b int) string {
	level := m.Distance(a, b).String()
	x, okA := m.Lookup(a)
	y, okB := m.Lookup(b)
	if d, ok := m.NodeDistance(a, b); ok && okA && okB && x.Node != y.Node {
		return fmt.Sprintf("%s, NUMA distance %d", level, d)
	}
	return level
}
