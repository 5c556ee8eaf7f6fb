package topology

import "slices"

// Level is the nearest level at which two CPUs meet, nearest first.
type Level int

// The levels, nearest first. Machine is where CPUs meet only in the machine
// and it does not tell its packages, so that they may be near or far.
const (
	SameCPU Level = iota
	SMT           // two threads of a core
	L2
	LLC // last level of cache
	Die
	Node
	Package
	Cross // different packages
	WholeMachine

	levels = iota
)

var levelNames = [levels]string{"same CPU", "SMT sibling", "L2", "last-level cache", "die", "NUMA node", "package", "across packages", "not told"}

// String is the level in a person's words.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return "no level"
	}
	return levelNames[l]
}

// group is the number of the CPU's group at a level, or Unknown.
func (c *CPU) group(l Level) int {
	switch l {
	case SMT:
		return c.Core
	case L2:
		return c.L2
	case LLC:
		return c.LLC
	case Die:
		return c.Die
	case Node:
		return c.Node
	case Package:
		return c.Package
	}
	return Unknown
}

func (m *Machine) sizeGroups() {
	m.ofNode = make(map[int]int)
	for i, node := range m.NodeNumbers {
		m.ofNode[node] = i
	}
	for l := SMT; l <= Package; l++ {
		m.groups[l] = make(sizes)
		for i := range m.CPUs {
			if g := m.CPUs[i].group(l); g != Unknown {
				m.groups[l][g]++
			}
		}
	}
}

// Distance is the nearest level at which CPUs a and b meet: of all sets that
// hold both (core, L2, last-level cache, die, node, package) the smallest, and
// the nearer level of two that are equal; a second level of cache that is also
// the last one is called the last. CPUs of different packages are Cross even
// where one memory node serves several packages, unless a cache spans them.
// Numbers that are not present, or offline, are WholeMachine apart.
func (m *Machine) Distance(a, b int) Level {
	i, hasA := m.at[a]
	j, hasB := m.at[b]
	if !hasA || !hasB {
		return WholeMachine
	}
	level, _ := m.meet(i, j)
	return level
}

// meet is Distance by index in CPUs, with the number of online CPUs in the set
// where they meet: how far apart they are, whatever the order of the levels.
func (m *Machine) meet(i, j int) (Level, int) {
	if i == j {
		return SameCPU, 1
	}
	a, b := &m.CPUs[i], &m.CPUs[j]
	samePackage := a.Package == b.Package
	best, size := WholeMachine, len(m.CPUs)+1
	for l := SMT; l <= Package; l++ {
		g := a.group(l)
		if g == Unknown || g != b.group(l) {
			continue
		}
		if l == Node && !samePackage {
			continue
		}
		n := m.groups[l][g]
		if n < size || l == LLC && best == L2 && n == size {
			best, size = l, n
		}
	}
	if best == WholeMachine && a.Package != Unknown && b.Package != Unknown && !samePackage {
		best = Cross
	}
	return best, size
}

// NodeDistance is the NUMA distance between the nodes of CPUs a and b as
// firmware tells it (10 is local; of the two directions the larger), and
// whether the machine tells it.
func (m *Machine) NodeDistance(a, b int) (int, bool) {
	i, hasA := m.at[a]
	j, hasB := m.at[b]
	if !hasA || !hasB {
		return 0, false
	}
	d := m.nodesApart(i, j)
	return d, d > 0
}

// nodesApart is NodeDistance by index in CPUs, 0 where it is not told.
func (m *Machine) nodesApart(i, j int) int {
	if m.Distances == nil {
		return 0
	}
	a, foundA := m.ofNode[m.CPUs[i].Node]
	b, foundB := m.ofNode[m.CPUs[j].Node]
	if !foundA || !foundB {
		return 0
	}
	return m.nodesApartBy(a, b)
}

// nodesApartBy is the distance of two nodes by their ranks in NodeNumbers.
func (m *Machine) nodesApartBy(a, b int) int { return max(m.Distances[a][b], m.Distances[b][a]) }

// Hops returns the NUMA distance classes of the machine: the different
// distances between different nodes, ascending. Hops()[0] is what hop=1 means.
func (m *Machine) Hops() []int {
	var classes []int
	for i := range m.Distances {
		for j := range m.Distances {
			if i != j {
				classes = append(classes, m.nodesApartBy(i, j))
			}
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}
