package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"udsbench/plan"
)

// Ladder is the cells of a pair that differ in parallelism only, fewest
// clients first.
type Ladder struct {
	Rungs      []*Cell
	Together   []string // fields that change with parallelism: what they do is not told apart from it
	Crossings  []Crossing
	Fits       [2]*USL // before, after; nil where the ladder is one rung
	Attributed []Attribution
}

// Crossing is where the curves of the two sides meet.
type Crossing struct {
	Below  int     `json:"below"` // rungs that it lies between
	Above  int     `json:"above"`
	At     float64 `json:"at"`           // clients, interpolated on logarithms
	Better string  `json:"better_below"` // the side that does better below
	Sure   bool    `json:"sure"`         // both rungs moved, in opposite directions
}

// ladders groups a pair's cells in one metric.
func (p *Pair) ladders(factors []string) []*Ladder {
	byMetric := map[string][]*Cell{}
	var metrics []string
	for _, c := range p.Cells {
		if byMetric[c.Metric.Name] == nil {
			metrics = append(metrics, c.Metric.Name)
		}
		byMetric[c.Metric.Name] = append(byMetric[c.Metric.Name], c)
	}
	var all []*Ladder
	for _, m := range metrics {
		cells := byMetric[m]
		together := boundToParallel(cells)
		groups := map[string]*Ladder{}
		for _, c := range cells {
			k := plan.Key(blank(c.Cell, slices.Concat(factors, together, []string{"parallel"})))
			if groups[k] == nil {
				groups[k] = &Ladder{Together: together}
				all = append(all, groups[k])
			}
			groups[k].Rungs = append(groups[k].Rungs, c)
		}
	}
	for _, l := range all {
		slices.SortStableFunc(l.Rungs, func(a, b *Cell) int { return cmp.Compare(a.Cell.Parallel, b.Cell.Parallel) })
		l.cross()
	}
	return all
}

// boundToParallel gives the fields that take several values, but only one at
// each parallelism.
func boundToParallel(cells []*Cell) []string {
	type at struct {
		name     string
		parallel int
	}
	value := map[at]string{}
	values := map[string]map[string]bool{}
	free := map[string]bool{"parallel": true}
	var names []string
	for _, c := range cells {
		for _, f := range plan.Fields(c.Cell) {
			if values[f.Name] == nil {
				values[f.Name] = map[string]bool{}
				names = append(names, f.Name)
			}
			values[f.Name][f.Value] = true
			k := at{f.Name, c.Cell.Parallel}
			if v, ok := value[k]; ok && v != f.Value {
				free[f.Name] = true
			}
			value[k] = f.Value
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return free[n] || len(values[n]) < 2 })
}

// cross finds where the ratio passes 1 between neighbouring rungs.
func (l *Ladder) cross() {
	var last *Cell
	for _, c := range l.Rungs {
		if math.IsNaN(c.Ratio) || last != nil && last.Cell.Parallel == c.Cell.Parallel {
			continue
		}
		if last != nil {
			a, b := math.Log(last.Ratio), math.Log(c.Ratio)
			if a*b < 0 {
				x, y := math.Log(float64(last.Cell.Parallel)), math.Log(float64(c.Cell.Parallel))
				better := c.Pair.After
				if (a > 0) == c.Metric.LowerIsBetter {
					better = c.Pair.Before
				}
				l.Crossings = append(l.Crossings, Crossing{last.Cell.Parallel, c.Cell.Parallel,
					math.Exp(x + (y-x)*a/(a-b)), better, last.Verdict.Moved() && c.Verdict.Moved()})
			}
		}
		last = c
	}
}

// worth reports whether a crossing is worth a line: noise makes equal curves
// cross at every rung.
func (x Crossing) worth(l *Ladder) bool {
	if x.Sure {
		return true
	}
	for _, c := range l.Rungs {
		if c.Cell.Parallel == x.Below || c.Cell.Parallel == x.Above {
			if c.Verdict == Same || c.Diff != nil && !c.Verdict.Moved() {
				return false
			}
		}
	}
	return true
}

func (x Crossing) text(l *Ladder) string {
	t := fmt.Sprintf("%s is better below about %.0f clients, worse above (measured at %d and %d)", x.Better, x.At, x.Below, x.Above)
	if !x.Sure {
		t += "; not certain, since not both of these cells moved for sure"
	}
	if len(l.Together) > 0 {
		t += "; " + strings.Join(l.Together, ", ") + " change together with parallel, so either may be the cause"
	}
	return t
}
