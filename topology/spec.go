package topology

import (
	"fmt"
	"strconv"
	"strings"

	"udsbench/affinity"
)

// specLimit bounds how many CPUs a description may have.
const specLimit = 8192

// stage is one level of a description: its kind, and how many of it each
// group of the level above holds.
type stage struct {
	level   Level
	other   bool // a level that is not kept: group, first-level cache
	count   int
	indexes []int // of pu: the numbers of the CPUs in order
}

func (s *stage) isPU() bool { return s.level == SameCPU && !s.other }

// FromSpec makes a machine from a description in hwloc's synthetic notation
// (hwloc manual, "Synthetic topologies"): levels from the outside in, each
// with its count in every group above: "pack:4 numa:1 core:2 pu:1". Known
// levels are pack (package, socket), numa (node), die, l3, l2, core and pu;
// group, l1 and attributes in parentheses are passed over, but for
// pu:2(indexes=0,2,1,3), which numbers the CPUs. "[numa]" attaches a node to
// the level before it. CPUs are numbered in order otherwise.
func FromSpec(spec string) (*Machine, error) {
	fail := func(format string, args ...any) (*Machine, error) {
		return nil, fmt.Errorf("machine %q: %s (an example: \"pack:4 core:2 pu:1\")", spec, fmt.Sprintf(format, args...))
	}
	stages, err := parseStages(spec)
	if err != nil {
		return fail("%v", err)
	}
	if len(stages) == 0 {
		return fail("no level in it")
	}
	if !stages[len(stages)-1].isPU() {
		stages = append(stages, stage{level: SameCPU, count: 1})
	}
	total, used := 1, make(map[Level]bool)
	for i, s := range stages {
		if s.isPU() && i != len(stages)-1 {
			return fail("pu is the innermost level")
		}
		if used[s.level] && !s.other {
			return fail("%s twice", levelNames[s.level])
		}
		used[s.level] = used[s.level] || !s.other
		if total *= s.count; total > specLimit {
			return fail("over %d CPUs", specLimit)
		}
	}
	numbers := stages[len(stages)-1].indexes
	if numbers != nil && len(numbers) != total {
		return fail("%d indexes for %d CPUs", len(numbers), total)
	}
	cpus := make([]CPU, total)
	for i := range cpus {
		cpus[i] = unknownCPU(i, true)
		if numbers != nil {
			cpus[i].CPU = numbers[i]
		}
		if !used[SMT] {
			cpus[i].Core = i
		}
	}
	nodes := 0
	per := total // CPUs in a group of the level
	for _, s := range stages {
		per /= s.count
		for i := range cpus {
			switch g := i / per; {
			case s.other:
			case s.level == Package:
				cpus[i].Package = g
			case s.level == Node:
				cpus[i].Node = g
				nodes = total / per
			case s.level == Die:
				cpus[i].Die = g
			case s.level == LLC:
				cpus[i].LLC = g
			case s.level == L2:
				cpus[i].L2 = g
			case s.level == SMT:
				cpus[i].Core = g
			}
		}
	}
	for i := range cpus {
		if !used[LLC] {
			cpus[i].LLC = cpus[i].L2
		}
		if !used[Package] {
			cpus[i].Package = 0
		}
		if nodes == 0 {
			cpus[i].Node = 0
		}
	}
	all := make([]int, max(1, nodes))
	for i := range all {
		all[i] = i
	}
	return assemble(cpus, all, nil, spec, nil)
}

var specLevels = map[string]stage{
	"machine": {other: true}, "group": {other: true}, "l1": {other: true}, "l1d": {other: true}, "l1i": {other: true}, "l4": {other: true},
	"pack": {level: Package}, "package": {level: Package}, "socket": {level: Package},
	"numa": {level: Node}, "numanode": {level: Node}, "node": {level: Node},
	"die": {level: Die}, "l3": {level: LLC}, "l2": {level: L2}, "core": {level: SMT}, "pu": {level: SameCPU},
	"l1cache": {other: true}, "l1dcache": {other: true}, "l1icache": {other: true}, "l2cache": {level: L2}, "l3cache": {level: LLC},
}

func parseStages(spec string) ([]stage, error) {
	var stages []stage
	rest := strings.TrimSpace(spec)
	for rest != "" {
		word, attributes := rest, ""
		end := strings.IndexAny(rest, " \t(")
		if end >= 0 {
			word, rest = rest[:end], rest[end:]
		} else {
			rest = ""
		}
		if strings.HasPrefix(rest, "(") {
			var closed bool
			attributes, rest, closed = strings.Cut(rest[1:], ")")
			if !closed {
				return nil, fmt.Errorf("a parenthesis is not closed")
			}
		}
		rest = strings.TrimSpace(rest)
		s, err := parseStage(word, attributes)
		if err != nil {
			return nil, err
		}
		if s.count > 0 {
			stages = append(stages, s)
		}
	}
	return stages, nil
}

func parseStage(word, attributes string) (stage, error) {
	if word == "[numa]" {
		return stage{level: Node, count: 1}, nil
	}
	if strings.HasPrefix(word, "[") {
		return stage{}, fmt.Errorf("%q is not known: [numa] is the only thing that is attached", word)
	}
	name, digits, hasCount := strings.Cut(word, ":")
	s, found := specLevels[strings.ToLower(name)]
	if !found {
		return stage{}, fmt.Errorf("level %q is not known: known are pack, numa, die, l3, l2, core and pu", name)
	}
	n, err := strconv.Atoi(digits)
	if !hasCount || err != nil || n < 1 || n > specLimit {
		return stage{}, fmt.Errorf("%q: a level needs a count from 1 to %d", word, specLimit)
	}
	s.count = n
	for attribute := range strings.FieldsSeq(attributes) {
		key, value, _ := strings.Cut(attribute, "=")
		if key == "indexes" && s.isPU() {
			if s.indexes, err = affinity.ParseList(value); err != nil {
				return stage{}, fmt.Errorf("%q: indexes are CPU numbers: %w", attribute, err)
			}
		}
	}
	return s, nil
}
