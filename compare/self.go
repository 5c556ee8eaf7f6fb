package compare

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"udsbench/layout"
	"udsbench/series"
)

// SelfResult is what a session says when it is compared with itself.
type SelfResult struct {
	Unit   string
	Splits int
	Alarms int // splits in which any cell was called faster or slower
	Cells  []SelfCell
	Input  Input
}

// SelfCell is one cell of a session against itself.
type SelfCell struct {
	Cell    *Cell
	Units   int
	Alarms  int     // splits in which this cell was called faster or slower
	Half    float64 // smallest slow-down found in 90 % of splits, half the units a side, as a share; NaN: cannot be had
	Like    float64 // the same between two sessions like this one, all units a side
	Unknown string  // why there are no figures
}

// minSelf is the least number of units that two halves need.
const minSelf = 4

// Self splits a session at random into halves many times and compares them. A
// right method calls any cell different in at most 5 % of splits. What slow-
// down would have been found, with the adjustment over all cells at its
// strictest, comes from the same splits; for two whole sessions, from samples
// drawn with replacement from the units.
func Self(side Side, in Input, splits int, seed uint64) (*SelfResult, error) {
	if splits < 1 {
		return nil, fmt.Errorf("--splits %d is not at least 1", splits)
	}
	if in.Metrics == nil {
		in.Metrics = []series.Metric{series.Throughput}
	}
	bs, known := boots(side.Runs)
	unit := in.Unit
	if unit == "" {
		if unit = UnitRun; known && len(bs) >= minSelf {
			unit = UnitBoot
		}
	}
	r := &SelfResult{Unit: unit, Splits: splits, Input: in}
	var logs [][]float64
	for _, m := range in.Metrics {
		groups, order := byCell(side.Runs, m, nil)
		left := discardOf(in.Discard, unit, groups.all())
		for _, k := range order {
			s := sampleOf(side.Name, groups[k], unit, left)
			c := SelfCell{Cell: &Cell{Number: len(r.Cells) + 1, Cell: groups[k][0].Cell, Metric: m, Before: s}, Units: len(s.Units), Half: math.NaN(), Like: math.NaN()}
			if c.Units < minSelf {
				c.Unknown = fmt.Sprintf("%s are too few to split: it takes %d", plural(c.Units, unit), minSelf)
			}
			r.Cells = append(r.Cells, c)
			logs = append(logs, s.Logs())
		}
	}
	if !slices.ContainsFunc(r.Cells, func(c SelfCell) bool { return c.Unknown == "" }) {
		return nil, errors.New("--self: no cell has the 4 boots or runs that two halves take: measure more with --runs")
	}
	r.split(logs, rand.New(rand.NewPCG(seed, 1)))
	r.draw(logs, rand.New(rand.NewPCG(seed, 2)))
	return r, nil
}

// tests counts the cells that are tested.
func (r *SelfResult) tests() int {
	n := 0
	for _, c := range r.Cells {
		if c.Unknown == "" {
			n++
		}
	}
	return n
}

// found gives the least slow-down (of logarithms) at which this difference,
// moved by it, is called slower.
func found(d *Difference, tests int, threshold float64) float64 {
	strict := tQuantile(alpha/2/float64(tests), d.DF) * d.SE
	half := d.Hi - d.Log
	return math.Max(0, math.Max(strict-d.Log, math.Log1p(threshold)-d.Log-half))
}

func (r *SelfResult) split(logs [][]float64, rng *rand.Rand) {
	needed := make([][]float64, len(logs))
	for range r.Splits {
		ps := make([]float64, len(logs))
		ds := make([]*Difference, len(logs))
		for i, ls := range logs {
			ps[i] = math.NaN()
			if r.Cells[i].Unknown != "" {
				continue
			}
			order := rng.Perm(len(ls))
			halves := [2][]float64{}
			for at, u := range order {
				halves[at%2] = append(halves[at%2], ls[u])
			}
			// The order is random now: runs no longer follow each other.
			ds[i] = Welch(halves[0], halves[1], false)
			ps[i] = ds[i].P
			needed[i] = append(needed[i], found(ds[i], r.tests(), r.Input.Threshold))
		}
		alarm := false
		for i, p := range Holm(ps) {
			if ds[i] == nil {
				continue
			}
			if v, _ := decide(ds[i], p, r.Input.Threshold, r.Cells[i].Cell.Metric); v.Moved() {
				r.Cells[i].Alarms++
				alarm = true
			}
		}
		if alarm {
			r.Alarms++
		}
	}
	for i, n := range needed {
		if len(n) > 0 {
			r.Cells[i].Half = r.Cells[i].share(quantileOf(n, power))
		}
	}
}

// draw makes pairs of sessions like this one. Drawing from n units makes them
// a little too alike, which the factor mends.
func (r *SelfResult) draw(logs [][]float64, rng *rand.Rand) {
	for i, ls := range logs {
		if r.Cells[i].Unknown != "" {
			continue
		}
		m, _, n := moments(ls)
		wide := math.Sqrt(float64(n) / float64(n-1))
		one := func() []float64 {
			xs := make([]float64, n)
			for j := range xs {
				xs[j] = m + wide*(ls[rng.IntN(n)]-m)
			}
			return xs
		}
		var needed []float64
		for range max(r.Splits, 200) {
			needed = append(needed, found(Welch(one(), one(), false), r.tests(), r.Input.Threshold))
		}
		r.Cells[i].Like = r.Cells[i].share(quantileOf(needed, power))
	}
}

// share gives a slow-down by log as a share of the figure: throughput falls
// by it, latency rises.
func (c SelfCell) share(log float64) float64 {
	if c.Cell.Metric.LowerIsBetter {
		return math.Expm1(log)
	}
	return -math.Expm1(-log)
}

func quantileOf(xs []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[min(len(s)-1, int(math.Ceil(q*float64(len(s))))-1)]
}

// WriteTable prints the result for a person.
func (r *SelfResult) WriteTable(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "against itself: %d random splits into halves, %s as units, threshold %s\n", r.Splits, r.Unit+"s", percent(r.Input.Threshold))
	rate := float64(r.Alarms) / float64(r.Splits)
	fmt.Fprintf(&b, "false alarms: in %d of %d splits (%s) some cell was called faster or slower", r.Alarms, r.Splits, percent(rate))
	if rate > alpha {
		fmt.Fprintf(&b, "; more than %s: do not trust small changes here", percent(alpha))
	}
	b.WriteString("\n\n")
	cells := make([]*Cell, len(r.Cells))
	for i := range r.Cells {
		cells[i] = r.Cells[i].Cell
	}
	n := newNames(cells, nil)
	if s := n.shared(); s != "" {
		layout.Paragraph(&b, width, "every cell: ", s)
		b.WriteByte('\n')
	}
	rows := [][]string{append(append([]string{"#"}, n.varying...), "metric", r.Unit+"s", "false alarms", "found: half a side", "found: two sessions like it")}
	for _, c := range r.Cells {
		row := append([]string{strconv.Itoa(c.Cell.Number)}, n.values(c.Cell)...)
		row = append(row, c.Cell.Metric.Name, strconv.Itoa(c.Units))
		if c.Unknown != "" {
			row = append(row, "-", "-", "not available: "+c.Unknown)
		} else {
			row = append(row, percent(float64(c.Alarms)/float64(r.Splits)), percent(c.Half), percent(c.Like))
		}
		rows = append(rows, row)
	}
	layout.Columns(&b, width, "", rows)
	b.WriteString("\nfound: the smallest slow-down that would have been called slower with 90 % probability, all cells being looked at")
	if r.Unit == UnitRun {
		b.WriteString(";\nruns of one boot: between two boots, or with a drift between two sessions, it takes more")
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}
