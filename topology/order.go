package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The order in which CPUs are given out must follow the shape of the machine,
// not the numbers that it happens to bear: two machines that differ by
// numbering alone get the same placement. So the allowed CPUs are hung into a
// tree by their levels, its branches are sorted by what they look like (the
// stronger kind of core first, then the larger, then by shape), then by how
// near their nodes are to those that come before, and numbers decide only
// between branches that are alike in all of that.

// branch is a set of CPUs that share a level, down to single CPUs.
type branch struct {
	cpus     int // leaves below
	kind     int // the strongest kind of core below
	shape    string
	lowest   int // lowest CPU number below
	index    int // in Machine.CPUs, for a leaf
	children []*branch
}

// plan is what every placement starts from: the allowed CPUs in tree order.
type plan struct {
	m    *Machine
	tree *branch
	cpus []int       // indexes in Machine.CPUs, in tree order: neighbours are near
	rank map[int]int // index in Machine.CPUs → rank among the allowed threads of its core
}

func (m *Machine) newPlan() *plan {
	var allowed []int
	for i, c := range m.CPUs {
		if c.Allowed {
			allowed = append(allowed, i)
		}
	}
	p := &plan{m: m, rank: make(map[int]int)}
	p.tree = m.grow(allowed, m.levelsByWidth(), m.nodeShapes())
	m.arrange(p.tree, nil)
	p.cpus = p.tree.leaves(nil)
	threads := make(map[int]int)
	for _, i := range p.cpus {
		if core := m.CPUs[i].Core; core != Unknown {
			p.rank[i] = threads[core]
			threads[core]++
		}
	}
	return p
}

// levelsByWidth sorts the levels from the widest groups to the narrowest:
// a node may hold packages, or a package nodes.
func (m *Machine) levelsByWidth() []Level {
	var known []Level
	for l := Package; l >= SMT; l-- {
		if len(m.groups[l]) > 0 {
			known = append(known, l)
		}
	}
	width := func(l Level) float64 {
		n := 0
		for _, size := range m.groups[l] {
			n += size
		}
		return float64(n) / float64(len(m.groups[l]))
	}
	slices.SortStableFunc(known, func(a, b Level) int { return cmp.Compare(width(b), width(a)) })
	return known
}

// nodeShapes describes each node by how many allowed CPUs it has and by what
// lies at which distance from it, so that a node in the middle of a machine is
// told from one at its edge. Each round looks one node further.
func (m *Machine) nodeShapes() map[int]string {
	shapes := make(map[int]string)
	if m.Distances == nil {
		return shapes
	}
	n := len(m.NodeNumbers)
	class := make([]int, n)
	for _, c := range m.CPUs {
		if i, found := m.ofNode[c.Node]; found && c.Allowed {
			class[i]++
		}
	}
	for range min(n, 4) {
		texts := make([]string, n)
		for i := range n {
			row := make([][2]int, n)
			for j := range n {
				row[j] = [2]int{m.nodesApartBy(i, j), class[j]}
			}
			slices.SortFunc(row, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
			texts[i] = fmt.Sprint(class[i], row)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(texts)))
		for i := range n {
			class[i], _ = slices.BinarySearch(distinct, texts[i])
		}
	}
	for i, node := range m.NodeNumbers {
		shapes[node] = fmt.Sprint(class[i])
	}
	return shapes
}

func (m *Machine) grow(cpus []int, by []Level, nodeShapes map[int]string) *branch {
	b := &branch{lowest: m.CPUs[cpus[0]].CPU}
	if len(by) == 0 {
		for _, i := range cpus {
			c := &m.CPUs[i]
			b.children = append(b.children, &branch{cpus: 1, kind: c.Kind, shape: nodeShapes[c.Node], lowest: c.CPU, index: i})
		}
	} else {
		groups := make(map[int][]int)
		alone := Unknown // CPUs that do not tell the level stand alone
		for _, i := range cpus {
			g := m.CPUs[i].group(by[0])
			if g == Unknown {
				alone--
				g = alone
			}
			groups[g] = append(groups[g], i)
		}
		for _, members := range groups {
			b.children = append(b.children, m.grow(members, by[1:], nodeShapes))
		}
	}
	if len(b.children) == 1 {
		return b.children[0]
	}
	b.kind = Unknown
	for _, child := range b.children {
		b.cpus += child.cpus
		b.kind = max(b.kind, child.kind)
		b.lowest = min(b.lowest, child.lowest)
	}
	slices.SortFunc(b.children, func(x, y *branch) int {
		return cmp.Or(cmp.Compare(y.kind, x.kind), cmp.Compare(y.cpus, x.cpus),
			strings.Compare(x.shape, y.shape), cmp.Compare(x.lowest, y.lowest))
	})
	b.shape = shapeOf(b.children, len(by))
	return b
}

// shapeOf writes sorted children down, equal neighbours as one with a count.
func shapeOf(children []*branch, level int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d(", level)
	for i := 0; i < len(children); {
		j := i
		for j < len(children) && children[j].shape == children[i].shape && children[j].kind == children[i].kind {
			j++
		}
		fmt.Fprintf(&s, "%d×k%d:%s ", j-i, children[i].kind, children[i].shape)
		i = j
	}
	s.WriteByte(')')
	return s.String()
}

// arrange orders branches that look alike, from the first leaf on: next comes
// the one whose nodes are nearest to those that came before. It returns the
// nodes seen, in order.
func (m *Machine) arrange(b *branch, seen []int) []int {
	if m.Distances == nil {
		return seen
	}
	if nodes := m.nodesOf(b); len(nodes) < 2 { // nothing to choose inside one node
		if len(nodes) == 1 && !slices.Contains(seen, nodes[0]) {
			seen = append(seen, nodes[0])
		}
		return seen
	}
	for i, child := range b.children {
		best, nearest := i, []int(nil)
		for j := i; j < len(b.children) && b.children[j].looksLike(child); j++ {
			if far := m.farFrom(b.children[j], seen); j == i || slices.Compare(far, nearest) < 0 {
				best, nearest = j, far
			}
		}
		chosen := b.children[best]
		copy(b.children[i+1:best+1], b.children[i:best])
		b.children[i] = chosen
		seen = m.arrange(chosen, seen)
	}
	return seen
}

func (b *branch) looksLike(other *branch) bool {
	return b.kind == other.kind && b.cpus == other.cpus && b.shape == other.shape
}

// farFrom is how far the nodes of a branch are from those seen, in the order
// in which these were.
func (m *Machine) farFrom(b *branch, seen []int) []int {
	nodes := m.nodesOf(b)
	var far []int
	for _, from := range seen {
		row := make([]int, 0, len(nodes))
		for _, node := range nodes {
			row = append(row, m.nodesApartBy(from, node))
		}
		slices.Sort(row)
		far = append(far, row...)
	}
	return far
}

// nodesOf returns the nodes below a branch, by their ranks in NodeNumbers.
func (m *Machine) nodesOf(b *branch) []int {
	var nodes []int
	for _, i := range b.leaves(nil) {
		if node, found := m.ofNode[m.CPUs[i].Node]; found && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (b *branch) leaves(into []int) []int {
	if len(b.children) == 0 {
		return append(into, b.index)
	}
	for _, child := range b.children {
		into = child.leaves(into)
	}
	return into
}

// dealt returns the leaves as cards are dealt: one from each branch in turn,
// at every level.
func (b *branch) dealt() []int {
	if len(b.children) == 0 {
		return []int{b.index}
	}
	var hands [][]int
	for _, child := range b.children {
		hands = append(hands, child.dealt())
	}
	var dealt []int
	for round := 0; len(dealt) < b.cpus; round++ {
		for _, hand := range hands {
			if round < len(hand) {
				dealt = append(dealt, hand[round])
			}
		}
	}
	return dealt
}

// threadsLast puts the first thread of every core before the second ones,
// and keeps the order otherwise.
func (p *plan) threadsLast(cpus []int) []int {
	cpus = slices.Clone(cpus)
	slices.SortStableFunc(cpus, func(a, b int) int { return p.rank[a] - p.rank[b] })
	return cpus
}

// firstThreads returns the first allowed thread of every core, in tree order.
func (p *plan) firstThreads() []int {
	return slices.DeleteFunc(slices.Clone(p.cpus), func(i int) bool { return p.rank[i] > 0 })
}
