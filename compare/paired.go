package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// PairedLevel is one level of a cell that took turns with the first level in
// short slices, set against it.
type PairedLevel struct {
	Cell          record.Cell // of the level
	Factor        string
	Before, After string      // levels
	Sets          int         // process sets that both had figures in: the unit
	Failed        int         // sets without figures
	Diff          *Difference // of the sets' logarithms; nil with fewer than two sets
	Adjusted      float64     // the p of Diff by Holm over all that are compared; NaN without one
	Verdict       Verdict
	Remark        string
}

// PairedLevels compares the levels of paired runs. For each set of processes
// the ratio is the median over its rounds of the ratio of the two rates within
// a round, so that neither drift nor a slice that was taken away counts; the
// sets are the unit of the t that gives interval and p, since one set alone can
// be biased by where its processes came to lie.
func PairedLevels(runs []record.Run, threshold float64) []PairedLevel {
	type key struct {
		rest  string
		block int
	}
	sets := map[key][]*record.Run{}
	var rests []string
	for i := range runs {
		r := &runs[i]
		if r.Paired == nil {
			continue
		}
		k := key{restOf(r), r.Block}
		if !slices.Contains(rests, k.rest) {
			rests = append(rests, k.rest)
		}
		sets[k] = append(sets[k], r)
	}
	var all []PairedLevel
	for _, rest := range rests {
		var levels []string
		var first *record.Run
		cells := map[string]record.Cell{}
		for _, r := range runs {
			if r.Paired != nil && restOf(&r) == rest && !slices.Contains(levels, r.Paired.Level) {
				levels = append(levels, r.Paired.Level)
				cells[r.Paired.Level] = r.Cell
				first = &r
			}
		}
		slices.SortStableFunc(levels, func(a, b string) int { return orderIn(runs, a) - orderIn(runs, b) })
		for _, level := range levels[1:] {
			p := PairedLevel{Cell: cells[level], Factor: first.Paired.Factor, Before: levels[0], After: level, Adjusted: math.NaN()}
			var logs, zeros []float64
			for k, set := range sets {
				if k.rest != rest {
					continue
				}
				if log, ok := setRatio(set, levels[0], level); ok {
					logs, zeros = append(logs, log), append(zeros, 0)
				} else {
					p.Failed++
				}
			}
			p.Sets = len(logs)
			// Sets are made anew each time: what follows what carries nothing over.
			p.Diff = Welch(zeros, logs, false)
			if p.Diff != nil {
				p.Diff.DF = float64(len(logs) - 1)
				p.Diff.Paired = true
				p.Diff.finish()
			}
			all = append(all, p)
		}
	}
	var ps []float64
	for _, p := range all {
		if p.Diff == nil {
			ps = append(ps, math.NaN())
		} else {
			ps = append(ps, p.Diff.P)
		}
	}
	for i, adjusted := range Holm(ps) {
		p := &all[i]
		p.Adjusted = adjusted
		if p.Sets == 0 {
			p.Verdict = FailedCell
			continue
		}
		p.Verdict, p.Remark = decide(p.Diff, adjusted, threshold, false)
	}
	return all
}

// restOf is what the cell of a paired run is beside its factor's level.
func restOf(r *record.Run) string { return plan.Without(r.Cell, r.Paired.Factor) }

// orderIn is where a level first stands in the order of the cells: levels are
// recorded set by set in that order.
func orderIn(runs []record.Run, level string) int {
	return slices.IndexFunc(runs, func(r record.Run) bool { return r.Paired != nil && r.Paired.Level == level })
}

// setRatio is the logarithm of the median ratio of the rates of two levels
// within the rounds of one set.
func setRatio(set []*record.Run, before, after string) (float64, bool) {
	find := func(level string) *record.Run {
		for _, r := range set {
			if r.Paired.Level == level && r.Status == record.OK && len(r.Slices) == len(r.SliceNS) {
				return r
			}
		}
		return nil
	}
	a, b := find(before), find(after)
	if a == nil || b == nil || len(a.Slices) != len(b.Slices) {
		return 0, false
	}
	var logs []float64
	for i := range a.Slices {
		if a.Slices[i] == 0 || b.Slices[i] == 0 {
			continue
		}
		x := float64(a.Slices[i]) / float64(a.SliceNS[i])
		y := float64(b.Slices[i]) / float64(b.SliceNS[i])
		logs = append(logs, math.Log(y/x))
	}
	if len(logs)*2 < len(a.Slices) {
		return 0, false // most of its slices were taken away
	}
	slices.Sort(logs)
	n := len(logs)
	return (logs[n/2] + logs[(n-1)/2]) / 2, true
}

// WritePaired draws the comparison of levels that took turns.
func WritePaired(w io.Writer, levels []PairedLevel) error {
	var b strings.Builder
	rows := [][]string{{"cell", "level", "sets", "change", "between (95 % sure)", "verdict"}}
	for _, p := range levels {
		row := []string{fmt.Sprintf("%s %s N=%d", p.Cell.Workload, p.Cell.Transport, p.Cell.Parallel),
			p.After + " against " + p.Before, fmt.Sprint(p.Sets), "-", "-", string(p.Verdict)}
		if p.Failed > 0 {
			row[2] += fmt.Sprintf(" (%d failed)", p.Failed)
		}
		if p.Diff != nil {
			ratio, lo, hi := p.Diff.Ratio()
			row[3], row[4] = change(ratio), change(lo)+" … "+change(hi)
		}
		if p.Remark != "" {
			row[5] += ": " + p.Remark
		}
		rows = append(rows, row)
	}
	b.WriteString("levels that took turns, operations a second; the unit is the set of processes, and what is said holds for this boot only\n\n")
	align(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}
