package topology

import (
	"fmt"
	"slices"
)

// Unknown stands where the machine does not tell a number.
const Unknown = -1

// CPU is one processor that is present. Package, Die, Core, L2 and LLC are
// unique in the machine and numbered from 0 in the order of their lowest
// online CPU. Node is the kernel's NUMA node number, which may have gaps.
// Levels that the machine does not tell are Unknown, and all of them are so
// where the CPU is offline.
type CPU struct {
	CPU     int  // the kernel's number; numbers may have gaps
	Online  bool // the kernel schedules on it
	Allowed bool // online, and this process may run on it
	Package int
	Node    int
	Die     int
	Core    int
	Thread  int // rank among the online siblings of its core, from 0
	L2      int
	LLC     int // the last level of cache that is known, from the second level on
	Kind    int // kind of core on a machine that mixes kinds, the slowest 0
}

// unknownCPU is a CPU of which nothing but its number is known.
func unknownCPU(number int, online bool) CPU {
	return CPU{CPU: number, Online: online, Allowed: online, Package: Unknown, Node: Unknown, Die: Unknown,
		Core: Unknown, Thread: Unknown, L2: Unknown, LLC: Unknown, Kind: Unknown}
}

// Machine is what is known of a machine's processors. It is not changed after
// it was made.
type Machine struct {
	CPUs           []CPU   // present CPUs, ascending by number
	Packages       int     // over online CPUs, or Unknown
	Nodes          int     // over online CPUs; 1 is assumed where nothing tells, with a warning
	Cores          int     // over online CPUs, or Unknown
	ThreadsPerCore int     // of the widest core, or Unknown
	NodeNumbers    []int   // nodes that have online CPUs, ascending: rows and columns of Distances
	MemoryNodes    []int   // nodes without online CPUs
	Distances      [][]int // NUMA distances as firmware tells them (10 is local), or nil
	Source         string  // where this was read
	Warnings       []string

	at     map[int]int   // CPU number → index in CPUs
	groups [levels]sizes // online CPUs in each group of each level
	ofNode map[int]int   // node number → index in NodeNumbers
}

// sizes counts the online CPUs of the groups of one level, by group number.
type sizes map[int]int

// assemble makes a machine of CPUs whose groups bear provisional numbers:
// it numbers them anew, ranks threads and counts. allNodes are the numbers of
// all nodes told, those without CPUs too, and distances their matrix, or nil.
func assemble(cpus []CPU, allNodes []int, distances [][]int, source string, warnings []string) (*Machine, error) {
	slices.SortFunc(cpus, func(a, b CPU) int { return a.CPU - b.CPU })
	m := &Machine{CPUs: cpus, Source: source, Warnings: warnings, at: make(map[int]int)}
	online := 0
	for i := range cpus {
		c := &cpus[i]
		if i > 0 && cpus[i-1].CPU == c.CPU {
			return nil, fmt.Errorf("%s: CPU %d is described twice", source, c.CPU)
		}
		if !c.Online {
			*c = unknownCPU(c.CPU, false)
		} else {
			online++
		}
		m.at[c.CPU] = i
	}
	if online == 0 {
		return nil, fmt.Errorf("%s: no CPU is online", source)
	}
	m.Packages = renumber(cpus, func(c *CPU) *int { return &c.Package })
	m.Cores = renumber(cpus, func(c *CPU) *int { return &c.Core })
	renumber(cpus, func(c *CPU) *int { return &c.Die })
	renumber(cpus, func(c *CPU) *int { return &c.L2 })
	renumber(cpus, func(c *CPU) *int { return &c.LLC })
	m.rankThreads()
	m.rankKinds()
	m.countNodes(allNodes, distances)
	m.sizeGroups()
	return m, nil
}

// renumber gives the groups of one level the numbers 0, 1, … in the order of
// their lowest online CPU. It returns how many there are, or Unknown where an
// online CPU does not tell its group.
func renumber(cpus []CPU, level func(*CPU) *int) int {
	next := make(map[int]int)
	complete := true
	for i := range cpus {
		number := level(&cpus[i])
		switch {
		case *number == Unknown:
			complete = complete && !cpus[i].Online
			continue
		default:
			if _, found := next[*number]; !found {
				next[*number] = len(next)
			}
			*number = next[*number]
		}
	}
	if !complete {
		return Unknown
	}
	return len(next)
}

func (m *Machine) rankThreads() {
	m.ThreadsPerCore = Unknown
	next := make(map[int]int)
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if c.Core == Unknown {
			continue
		}
		c.Thread = next[c.Core]
		next[c.Core]++
		if m.Cores != Unknown {
			m.ThreadsPerCore = max(m.ThreadsPerCore, next[c.Core])
		}
	}
}

// rankKinds makes the kinds 0, 1, … ascending. One kind alone is no kind.
func (m *Machine) rankKinds() {
	var kinds []int
	complete := true
	for _, c := range m.CPUs {
		if c.Online {
			kinds = append(kinds, c.Kind)
			complete = complete && c.Kind != Unknown
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if !complete || len(kinds) < 2 || !c.Online {
			c.Kind = Unknown
			continue
		}
		c.Kind, _ = slices.BinarySearch(kinds, c.Kind)
	}
}

// countNodes keeps the nodes that have online CPUs, and their part of the
// distance matrix.
func (m *Machine) countNodes(all []int, distances [][]int) {
	var rows []int
	for i, node := range all {
		if slices.ContainsFunc(m.CPUs, func(c CPU) bool { return c.Online && c.Node == node }) {
			m.NodeNumbers = append(m.NodeNumbers, node)
			rows = append(rows, i)
		} else {
			m.MemoryNodes = append(m.MemoryNodes, node)
		}
	}
	m.Nodes = len(m.NodeNumbers)
	if m.Nodes == 0 {
		m.Nodes = 1
		if m.Packages != 1 && len(m.Online()) > 1 {
			m.warn("nothing is told of NUMA nodes: one is assumed")
		}
	}
	for _, r := range rows {
		if r >= len(distances) || len(distances[r]) < len(all) {
			return
		}
		row := make([]int, 0, len(rows))
		for _, c := range rows {
			row = append(row, distances[r][c])
		}
		m.Distances = append(m.Distances, row)
	}
}

func (m *Machine) warn(format string, args ...any) {
	m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...))
}

// restrict allows only those CPUs that are among these.
func (m *Machine) restrict(allowed []int) {
	set := asSet(allowed)
	for i := range m.CPUs {
		m.CPUs[i].Allowed = m.CPUs[i].Online && set[m.CPUs[i].CPU]
	}
}

// Lookup returns the CPU with the kernel's number, and whether it is present.
func (m *Machine) Lookup(cpu int) (CPU, bool) {
	i, found := m.at[cpu]
	if !found {
		return CPU{}, false
	}
	return m.CPUs[i], true
}

// Online returns the numbers of the CPUs that are online, ascending.
func (m *Machine) Online() []int { return m.numbers(func(c CPU) bool { return c.Online }) }

// Allowed returns the numbers of the CPUs that this process may run on, ascending.
func (m *Machine) Allowed() []int { return m.numbers(func(c CPU) bool { return c.Allowed }) }

func (m *Machine) numbers(which func(CPU) bool) []int {
	var cpus []int
	for _, c := range m.CPUs {
		if which(c) {
			cpus = append(cpus, c.CPU)
		}
	}
	return cpus
}
