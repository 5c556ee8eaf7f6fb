package plan

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"udsbench/record"
)

// Nothing is the factor of a paired plan whose levels are two copies of one
// cell: A/A.
const Nothing = "nothing"

// Level is one of the steps that take turns, and its level of the factor.
type Level struct {
	Step
	Name string
}

// Groups gives the steps of one block that take turns: those whose cells
// differ in the factor alone. Each group stands where its first step stands,
// and its levels in the order of the cells.
func (p *Plan) Groups(block int) [][]Level {
	n := len(p.Cells)
	seq := 0
	for _, b := range p.Order[:block] {
		seq += len(b)
	}
	var keys []string
	groups := map[string][]Level{}
	for i, index := range p.Order[block] {
		c := p.Cells[index%n]
		key, name := without(c, p.Paired)
		if p.Paired == Nothing {
			name = string(rune('A' + index/n))
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], Level{Step{Seq: seq + i, Block: block, Cell: index % n}, name})
	}
	var all [][]Level
	for _, k := range keys {
		g := groups[k]
		slices.SortFunc(g, func(a, b Level) int {
			if a.Cell != b.Cell {
				return a.Cell - b.Cell
			}
			return strings.Compare(a.Name, b.Name)
		})
		all = append(all, g)
	}
	return all
}

// Work gives what is measured at once, in order: single steps, or in a paired
// plan the levels that take turns.
func (p *Plan) Work() iter.Seq[[]Level] {
	return func(yield func([]Level) bool) {
		if p.Paired != "" {
			for b := range p.Order {
				for _, g := range p.Groups(b) {
					if !yield(g) {
						return
					}
				}
			}
			return
		}
		for s := range p.Steps() {
			if !yield([]Level{{Step: s}}) {
				return
			}
		}
	}
}

// Without gives a text for what of a cell is not the factor: cells that differ
// in the factor alone have the same.
func Without(c record.Cell, factor string) string {
	key, _ := without(c, factor)
	return key
}

// without gives a text for what of a cell is not the factor, and the factor's
// value.
func without(c record.Cell, factor string) (key, value string) {
	var rest []string
	for _, f := range Fields(c) {
		if f.Name == factor {
			value = f.Value
			continue
		}
		// What the workload fills in by the factor's value is no other factor.
		if f.Name == "address" && factor == "transport" || f.Name == "server-model" && factor == "model" {
			continue
		}
		rest = append(rest, f.Name+" "+f.Value)
	}
	return strings.Join(rest, ", "), value
}

// checkPaired refuses a factor that has no levels to take turns, and levels
// that cannot.
func (p *Plan) checkPaired() error {
	if p.Paired == "" {
		return nil
	}
	refuse := func(why string, args ...any) error {
		return &UsageError{"paired", p.Paired, fmt.Sprintf(why, args...)}
	}
	if strings.HasPrefix(p.Paired, "sched/") {
		return refuse("a knob of the kernel has one value for all who are alive: let the plan switch it, without --paired")
	}
	if p.Paired != Nothing {
		known := false
		for _, f := range Fields(p.Cells[0]) {
			known = known || f.Name == p.Paired
		}
		if !known {
			return refuse("is no flag that cells differ by: give one, as transport, model, placement or clock, or %s", Nothing)
		}
	}
	for _, c := range p.Cells {
		if c.Model == "goroutine" || c.ServerModel == "goroutine" {
			return refuse("goroutines cannot be parked without a thread each: leave the model goroutine out")
		}
		if strings.HasPrefix(c.Policy, "deadline") {
			return refuse("a deadline policy reserves its share of the CPUs, parked or not: leave it out")
		}
		if r := c.Params["rate"]; r != "" {
			return refuse("an open loop has its times to keep and cannot be parked: leave --rate out")
		}
		for name := range c.Params {
			if strings.HasPrefix(name, "sched/") {
				return refuse("--param %s has one value for all who are alive: leave it out", name)
			}
		}
	}
	for _, g := range p.Groups(0) {
		if len(g) < 2 {
			_, value := without(p.Cells[g[0].Cell], p.Paired)
			return refuse("%s is the only level of one of the cells: give at least two values to --%s", value, p.Paired)
		}
	}
	return nil
}
