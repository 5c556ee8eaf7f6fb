package topology

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
)

// lstopo writes what hwloc knows of a machine as a tree of objects (hwloc
// manual, "Importing and exporting topologies from/to XML files"; the DTDs are
// hwloc.dtd and hwloc2.dtd). Both versions of the format are read: nodes are
// levels of the tree in the first and hang beside it in the second, and
// packages were once called sockets.

type lstopoText struct {
	XMLName   xml.Name        `xml:"topology"`
	Objects   []lstopoObject  `xml:"object"`
	Distances []lstopoMatrix  `xml:"distances2"`
	Kinds     []lstopoCPUKind `xml:"cpukind"`
}

type lstopoObject struct {
	Type     string         `xml:"type,attr"`
	Index    string         `xml:"os_index,attr"`
	CPUs     string         `xml:"cpuset,attr"`
	Online   string         `xml:"online_cpuset,attr"`
	Complete string         `xml:"complete_cpuset,attr"`
	Allowed  string         `xml:"allowed_cpuset,attr"`
	Depth    string         `xml:"depth,attr"`      // of a cache, in the first version
	Cache    string         `xml:"cache_type,attr"` // 2: instructions
	Old      []oldDistances `xml:"distances"`
	Children []lstopoObject `xml:"object"`
}

type oldDistances struct {
	Count int    `xml:"nbobjs,attr"`
	Base  string `xml:"latency_base,attr"`
	Cells []struct {
		Value string `xml:"value,attr"`
	} `xml:"latency"`
}

type lstopoMatrix struct {
	Type    string   `xml:"type,attr"`
	Kind    int      `xml:"kind,attr"`
	Name    string   `xml:"name,attr"`
	Indexes []string `xml:"indexes"`
	Values  []string `xml:"u64values"`
}

type lstopoCPUKind struct {
	CPUs string `xml:"cpuset,attr"`
}

type lstopoReader struct {
	cpus     map[int]*CPU
	llcLevel map[int]int
	nodes    []int // in the order of the file
	next     int
	old      []int   // matrix of the first version, row by row
	distance [][]int // by node number
}

// fromLstopo makes a machine of an XML file that lstopo wrote.
func fromLstopo(data []byte, source string) (*Machine, error) {
	var top lstopoText
	if err := xml.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if len(top.Objects) != 1 {
		return nil, fmt.Errorf("%s: no machine in it", source)
	}
	r := &lstopoReader{cpus: make(map[int]*CPU), llcLevel: make(map[int]int)}
	machine := &top.Objects[0]
	if err := r.findCPUs(machine); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if err := r.descend(machine, 1); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	for i, kind := range top.Kinds { // in the order of efficiency
		for _, n := range r.members(kind.CPUs) {
			r.cpus[n].Kind = i
		}
	}
	r.arrange(r.nodes, r.old)
	for _, matrix := range top.Distances {
		r.readMatrix(matrix)
	}
	var cpus []CPU
	for _, c := range r.cpus {
		cpus = append(cpus, *c)
	}
	nodes := slices.Sorted(slices.Values(r.nodes))
	m, err := assemble(cpus, nodes, r.distance, source, nil)
	if err == nil && len(m.Online()) < len(m.CPUs) && len(m.Online()) == len(m.Allowed()) {
		m.warn("CPUs that are shown as offline may be outside the cpuset instead: lstopo --disallowed tells them apart")
	}
	return m, err
}

// findCPUs makes the CPUs that the machine object names: those of its cpuset
// are online, others of its complete set are not.
func (r *lstopoReader) findCPUs(machine *lstopoObject) error {
	online, err := parseBitmap(machine.CPUs)
	if err != nil || len(online) == 0 {
		return fmt.Errorf("the machine has no cpuset: %q", machine.CPUs)
	}
	if set, err := parseBitmap(machine.Online); err == nil && len(set) > 0 {
		on := asSet(set)
		online = slices.DeleteFunc(online, func(n int) bool { return !on[n] })
	}
	for _, n := range online {
		c := unknownCPU(n, true)
		r.cpus[n] = &c
	}
	if complete, err := parseBitmap(machine.Complete); err == nil {
		for _, n := range complete {
			if r.cpus[n] == nil {
				c := unknownCPU(n, false)
				r.cpus[n] = &c
			}
		}
	}
	if allowed, err := parseBitmap(machine.Allowed); err == nil && len(allowed) > 0 {
		set := asSet(allowed)
		for n, c := range r.cpus {
			c.Allowed = c.Online && set[n]
		}
	}
	return nil
}

// members returns the CPUs of a set that the machine has.
func (r *lstopoReader) members(bitmap string) []int {
	cpus, err := parseBitmap(bitmap)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(cpus, func(n int) bool { return r.cpus[n] == nil || !r.cpus[n].Online })
}

// lstopoDepth bounds how deep objects are nested.
const lstopoDepth = 64

func (r *lstopoReader) descend(o *lstopoObject, depth int) error {
	if depth > lstopoDepth {
		return fmt.Errorf("objects are nested more than %d deep", lstopoDepth)
	}
	r.next++
	switch o.Type {
	case "Package", "Socket":
		r.mark(o, packageOf)
	case "Die":
		r.mark(o, dieOf)
	case "Core":
		r.mark(o, coreOf)
	case "NUMANode":
		if err := r.readNode(o); err != nil {
			return err
		}
	default:
		r.readCache(o)
	}
	for _, old := range o.Old {
		r.readOld(old)
	}
	for i := range o.Children {
		if err := r.descend(&o.Children[i], depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *lstopoReader) mark(o *lstopoObject, level func(*CPU) *int) {
	for _, n := range r.members(o.CPUs) {
		*level(r.cpus[n]) = r.next
	}
}

func (r *lstopoReader) readNode(o *lstopoObject) error {
	number, err := strconv.Atoi(o.Index)
	if err != nil || number < 0 || number > affinity.MaxCPU {
		return fmt.Errorf("a NUMA node has the number %q", o.Index)
	}
	if slices.Contains(r.nodes, number) {
		return fmt.Errorf("NUMA node %d is there twice", number)
	}
	r.nodes = append(r.nodes, number)
	for _, n := range r.members(o.CPUs) {
		if c := r.cpus[n]; c.Node == Unknown { // nodes of memory alone repeat their neighbours' CPUs
			c.Node = number
		}
	}
	return nil
}

// readCache takes "L3Cache", or "Cache" with a depth, from the second level on.
func (r *lstopoReader) readCache(o *lstopoObject) {
	digits := o.Depth
	if o.Type != "Cache" {
		inner, isCache := strings.CutSuffix(o.Type, "Cache")
		if !isCache || !strings.HasPrefix(inner, "L") {
			return
		}
		digits = strings.TrimPrefix(inner, "L")
	}
	level, err := strconv.Atoi(digits)
	if err != nil || level < 2 || o.Cache == "2" {
		return
	}
	for _, n := range r.members(o.CPUs) {
		if level == 2 {
			r.cpus[n].L2 = r.next
		}
		if level > r.llcLevel[n] {
			r.llcLevel[n] = level
			r.cpus[n].LLC = r.next
		}
	}
}

// readOld reads the matrix of the first version: latencies in units of a base,
// for the nodes in the order of the file, which come after it.
func (r *lstopoReader) readOld(old oldDistances) {
	base, err := strconv.ParseFloat(old.Base, 64)
	if err != nil || base <= 0 || old.Count < 1 || old.Count > 1024 || len(old.Cells) != old.Count*old.Count || r.old != nil {
		return
	}
	for _, cell := range old.Cells {
		value, err := strconv.ParseFloat(cell.Value, 64)
		if err != nil || value < 0 || value*base > 1<<16 {
			r.old = nil
			return
		}
		r.old = append(r.old, int(value*base+0.5))
	}
}

// readMatrix reads the second version's matrix of latencies between nodes.
func (r *lstopoReader) readMatrix(matrix lstopoMatrix) {
	const bandwidth = 1 << 3 // HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH
	if matrix.Type == "NUMANode" && matrix.Kind&bandwidth == 0 {
		r.arrange(integers(matrix.Indexes), integers(matrix.Values))
	}
}

// arrange puts a matrix into the order of the nodes' numbers.
func (r *lstopoReader) arrange(indexes, values []int) {
	nodes := slices.Sorted(slices.Values(r.nodes))
	n := len(nodes)
	if r.distance != nil || len(indexes) != n || len(values) != n*n {
		return
	}
	square := make([][]int, n)
	for i := range square {
		square[i] = make([]int, n)
	}
	for i, value := range values {
		row, found := slices.BinarySearch(nodes, indexes[i/n])
		col, also := slices.BinarySearch(nodes, indexes[i%n])
		if !found || !also || value < 0 || value > 1<<16 {
			return
		}
		square[row][col] = value
	}
	r.distance = square
}

// integers reads numbers from the texts of several elements.
func integers(texts []string) []int {
	var numbers []int
	for word := range strings.FieldsSeq(strings.Join(texts, " ")) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// parseBitmap reads a set as hwloc prints it: words of 32 bits, each with 0x
// before it, the highest first; empty words are zero. Infinite sets
// (0xf...f) are refused.
func parseBitmap(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	words := strings.Split(text, ",")
	for i, word := range words {
		if words[i] = strings.TrimPrefix(word, "0x"); words[i] == "" {
			words[i] = "0"
		}
	}
	cpus, err := parseMask(strings.Join(words, ","))
	slices.Sort(cpus)
	return cpus, err
}
