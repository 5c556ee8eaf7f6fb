package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"udsbench/series"
)

// warnings says in plain words what the series of a pair have in them that a
// reader should know before believing the words.
func (p *Pair) warnings() []string {
	var unsteady, warmup, drift, work []string
	longest, apart := 0.0, 0.0
	for _, c := range p.Cells {
		if c.Metric.Name != p.Cells[0].Metric.Name {
			break // the same runs again
		}
		if d := workApart(c.Before, c.After); d > unlikeWork {
			work, apart = append(work, fmt.Sprintf("#%d", c.Number)), max(apart, d)
		}
		for _, s := range []*Sample{c.Before, c.After} {
			name := fmt.Sprintf("#%d %s", c.Number, s.Side)
			if takeTurns(s.Series) {
				continue // what drifts from set to set falls out, and slices are turns
			}
			for _, one := range s.Series {
				if series.SteadyState(one.Values()).State == series.Unsteady {
					unsteady = append(unsteady, name)
				}
				if series.DriftOf(one.Points).Seen() {
					drift = append(drift, name)
				}
				if w := one.WarmUp(); w.Runs > 0 && 2*w.StartUp > w.Runs {
					warmup = append(warmup, name)
					longest = max(longest, w.LongestS)
				}
			}
		}
	}
	var all []string
	if unsteady != nil {
		all = append(all, "no steady state, so all runs count: "+some(unsteady))
	}
	if warmup != nil {
		all = append(all, fmt.Sprintf("most windows begin with start-up (up to %s s): warm-up is too short: %s", strconv.FormatFloat(longest, 'g', 2, 64), some(warmup)))
	}
	if drift != nil && !paired(p) {
		all = append(all, "the rate drifts from the first block to the last: "+some(drift))
	}
	if work != nil {
		all = append(all, fmt.Sprintf("the CPU work of the sides was calibrated up to %.1f %% apart (spin in the records), and that is part of the change: %s", 100*apart, some(work)))
	}
	return all
}

// unlikeWork is how far calibrations of CPU work may lie apart: as far as the
// tries of one.
const unlikeWork = 0.01

// workApart is how far the least and the greatest calibration of two samples
// lie apart, as a share; 0 where their workers do no work of their own.
func workApart(samples ...*Sample) float64 {
	lo, hi := math.Inf(1), 0.0
	for _, s := range samples {
		for _, one := range s.Series {
			for _, p := range one.Points {
				if p.Run != nil && p.Run.Spin != nil {
					lo, hi = min(lo, p.Run.Spin.PerUS), max(hi, p.Run.Spin.PerUS)
				}
			}
		}
	}
	if hi == 0 {
		return 0
	}
	return hi/lo - 1
}

// some names up to six.
func some(names []string) string {
	names = slices.Compact(names)
	if len(names) > 6 {
		return strings.Join(names[:6], ", ") + fmt.Sprintf(" and %d more", len(names)-6)
	}
	return strings.Join(names, ", ")
}
