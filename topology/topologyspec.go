package topology

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
)

// FreeBSD's ULE scheduler tells its view of the machine as XML in
// kern.sched.topology_spec (SMP(4); sys/kern/sched_ule.c, sys/kern/subr_smp.c):
// groups of CPUs within groups, each with the level of the cache that it
// shares (0: none known) and flags: HTT, THREAD and SMT mark the threads of a
// core, NODE a NUMA domain. Masks are words, the lowest first, or one number
// in old releases.
//
// What the text does not tell is left unknown: on releases whose masks are
// lists of words the groups are caches and domains, and nothing says which of
// them are packages (the core complexes of one chip look just like packages).
// Before, the kernel built the tree from packages itself.

type specText struct {
	Groups []specGroup `xml:"group"`
}

type specGroup struct {
	CacheLevel int `xml:"cache-level,attr"`
	CPU        struct {
		Mask string `xml:"mask,attr"`
		List string `xml:",chardata"`
	} `xml:"cpu"`
	Flags []struct {
		Name string `xml:"name,attr"`
	} `xml:"flags>flag"`
	Children []specGroup `xml:"children>group"`
}

func (g *specGroup) has(flags ...string) bool {
	for _, f := range g.Flags {
		if slices.Contains(flags, strings.ToUpper(strings.TrimSpace(f.Name))) {
			return true
		}
	}
	return false
}

// errNoTree is what a text without CPUs is: FreeBSD 16 has one under any
// scheduler, and under 4BSD an empty group (sys/kern/sched_shim.c).
var errNoTree = errors.New("no CPU in it")

// specDepth bounds how deep groups are nested: the kernel's are at most five.
const specDepth = 32

// specReader collects the levels of the CPUs while it goes down the groups.
type specReader struct {
	cpus     map[int]*CPU
	next     int         // provisional group number
	nodes    int         // domains seen
	llcLevel map[int]int // level of the cache that a CPU's LLC stands for
	wordy    bool        // masks are lists of words
}

// parseSpec reads the text. The sets of CPUs come from the lists, and must
// agree with the masks.
func parseSpec(text string) (*specReader, error) {
	var spec specText
	text = strings.Trim(text, " \t\r\n\x00")
	text = strings.TrimSpace(strings.TrimPrefix(text, "kern.sched.topology_spec:"))
	if err := xml.Unmarshal([]byte(text), &spec); err != nil {
		return nil, fmt.Errorf("topology_spec: %w", err)
	}
	if len(spec.Groups) == 0 {
		return nil, fmt.Errorf("topology_spec: no group in it")
	}
	r := &specReader{cpus: make(map[int]*CPU), llcLevel: make(map[int]int)}
	for i := range spec.Groups {
		if err := r.descend(&spec.Groups[i], nil, 1); err != nil {
			return nil, fmt.Errorf("topology_spec: %w", err)
		}
	}
	if len(r.cpus) == 0 {
		return nil, fmt.Errorf("topology_spec: %w", errNoTree)
	}
	for _, c := range r.cpus { // outside all SMT groups a CPU is a core
		if c.Core == Unknown {
			c.Core = r.number()
		}
	}
	if len(spec.Groups) == 1 {
		r.packages(&spec.Groups[0])
	}
	return r, nil
}

func (r *specReader) number() int { r.next++; return r.next }

func (r *specReader) descend(g *specGroup, outer []int, depth int) error {
	if depth > specDepth {
		return fmt.Errorf("groups are nested more than %d deep", specDepth)
	}
	cpus, err := r.members(g)
	if err != nil {
		return err
	}
	for _, n := range cpus {
		if outer != nil && !slices.Contains(outer, n) {
			return fmt.Errorf("CPU %d is in a group but not in the one around it", n)
		}
		if r.cpus[n] == nil {
			c := unknownCPU(n, true)
			r.cpus[n] = &c
		}
	}
	number := r.number()
	if g.has("NODE") {
		for _, n := range cpus {
			r.cpus[n].Node = r.nodes
		}
		r.nodes++
	}
	if g.has("HTT", "THREAD", "SMT") {
		for _, n := range cpus {
			r.cpus[n].Core = number
		}
	}
	if g.CacheLevel >= 2 {
		for _, n := range cpus {
			if g.CacheLevel == 2 {
				r.cpus[n].L2 = number
			}
			if g.CacheLevel > r.llcLevel[n] {
				r.llcLevel[n] = g.CacheLevel
				r.cpus[n].LLC = number
			}
		}
	}
	for i := range g.Children {
		if err := r.descend(&g.Children[i], cpus, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// members returns the CPUs of a group. Old and new spellings of the mask are
// told apart by a comma.
func (r *specReader) members(g *specGroup) ([]int, error) {
	listed, err := affinity.ParseList(strings.Join(strings.Fields(g.CPU.List), ""))
	if err != nil {
		return nil, err
	}
	if g.CPU.Mask == "" {
		return listed, nil
	}
	if strings.Contains(g.CPU.Mask, ",") {
		r.wordy = true
	}
	masked, err := parseWords(g.CPU.Mask)
	if err != nil {
		return nil, err
	}
	if len(listed) == 0 {
		return masked, nil
	}
	slices.Sort(listed)
	if !slices.Equal(listed, masked) {
		return nil, fmt.Errorf("the list %s and the mask %s are not the same CPUs", affinity.FormatList(listed), g.CPU.Mask)
	}
	return listed, nil
}

// parseWords reads a mask of 64-bit words in hexadecimal, the lowest first.
func parseWords(mask string) ([]int, error) {
	var cpus []int
	for i, text := range strings.Split(mask, ",") {
		word, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(text), "0x"), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("mask %q: word %q is no hexadecimal number of 64 bits", mask, text)
		}
		if i*64 > affinity.MaxCPU {
			return nil, fmt.Errorf("mask of %d words is too long", i)
		}
		for ; word != 0; word &= word - 1 {
			cpus = append(cpus, i*64+bits.TrailingZeros64(word))
		}
	}
	return cpus, nil
}

// packages tells packages where the text does: one CPU, or a cache that
// everybody shares, is one package; in the old tree the groups below the
// machine are the packages, unless there is only one level.
func (r *specReader) packages(machine *specGroup) {
	if len(r.cpus) == 1 || machine.CacheLevel >= 2 {
		for _, c := range r.cpus {
			c.Package = 0
		}
		return
	}
	if r.wordy || len(machine.Children) == 0 {
		return
	}
	for i := range machine.Children {
		number := r.number()
		cpus, _ := r.members(&machine.Children[i])
		for _, n := range cpus {
			r.cpus[n].Package = number
		}
	}
}

// list returns the CPUs ascending.
func (r *specReader) list() []CPU {
	var cpus []CPU
	for _, c := range r.cpus {
		cpus = append(cpus, *c)
	}
	slices.SortFunc(cpus, func(a, b CPU) int { return a.CPU - b.CPU })
	return cpus
}

// fromSpecText makes a machine of the text alone.
func fromSpecText(text, source string) (*Machine, error) {
	r, err := parseSpec(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return assemble(r.list(), upTo(r.nodes), nil, source, packagesNotTold(r.list()))
}

func packagesNotTold(cpus []CPU) []string {
	if slices.ContainsFunc(cpus, func(c CPU) bool { return c.Package == Unknown }) {
		return []string{"topology_spec does not tell which groups are packages and which are caches of one"}
	}
	return nil
}

// upTo returns 0, 1, … n-1.
func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}
