package topology

import "slices"

// Unknown stands where the machine does not tell a number.
const Unknown = -1

// CPU is one processor that is present. Package, Core, L2 and LLC are unique
// in the machine and numbered from 0 in the order of their lowest online CPU;
// so is Die. Node is the kernel's NUMA node number, which may have gaps.
// Levels that the machine does not tell are Unknown, and all of them are so
// where the CPU is offline.
type CPU struct {
	CPU     int  // the kernel's number; numbers may have gaps
	Online  bool //
	Allowed bool // online, and this process may run on it
	Package int
	Node    int
	Die     int
	Core    int
	Thread  int // rank among the online siblings of its core, from 0
	L2      int
	LLC     int // the last level of cache, where it is known beyond the first
	Kind    int // kind of core on a machine that mixes kinds, the slowest 0
}

// Machine is what is known of a machine's processors. It is not changed after
// it was made.
type Machine struct {
	CPUs           []CPU   // present CPUs, ascending by number
	Packages       int     // over online CPUs, or Unknown
	Nodes          int     // over online CPUs, or Unknown
	Cores          int     // over online CPUs, or Unknown
	ThreadsPerCore int     // of the widest core, or Unknown
	NodeNumbers    []int   // nodes that have online CPUs, ascending: rows and columns of Distances
	MemoryNodes    []int   // nodes without online CPUs
	Distances      [][]int // NUMA distances as firmware tells them (10 is local), or nil
	Source         string  // where this was read
	Warnings       []string

	at map[int]int // CPU number → index in CPUs
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

func (m *Machine) nodeIndex(node int) int { return slices.Index(m.NodeNumbers, node) }
