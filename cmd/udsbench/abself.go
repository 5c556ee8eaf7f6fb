package main

import (
	"udsbench/compare"
	"udsbench/plan"
	"udsbench/record"
)

// abSides tells the A runs of a plan by --ab-self from its B runs.
func abSides(p *plan.Plan, runs []record.Run) []compare.Side {
	second := map[int]bool{}
	for step := range p.Steps() {
		second[step.Seq] = step.B
	}
	sides := []compare.Side{{Name: "A"}, {Name: "B"}}
	for _, r := range runs {
		i := 0
		if second[r.Seq] {
			i = 1
		}
		sides[i].Runs = append(sides[i].Runs, r)
	}
	return sides
}
