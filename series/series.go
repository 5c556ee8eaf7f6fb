package series

import (
	"cmp"
	"slices"

	"udsbench/plan"
	"udsbench/record"
)

// Point is one run of a series that has the figure.
type Point struct {
	Run   *record.Run
	Value float64
}

// Series is all timed runs of one cell under one boot, in order.
type Series struct {
	Cell    record.Cell
	Boot    string // "" where it is not known: imported results
	Metric  Metric
	Points  []Point       // in the order in which they were run
	Failed  []*record.Run // failed runs: no figure, but counted
	Without []*record.Run // runs that are ok and yet lack this figure
}

// Of groups runs by cell and boot. Runs are ordered by session (in the order
// in which the sessions appear), then by Seq; series by where their cell, then
// their boot, first appears. Instrumented runs are passed over: they are never
// mixed with timed ones.
func Of(runs []record.Run, m Metric) []*Series {
	type key struct{ cell, boot string }
	at := map[key]int{}
	var all []*Series
	order := map[string]int{}
	for i := range runs {
		r := &runs[i]
		if _, ok := order[r.Session]; !ok {
			order[r.Session] = len(order)
		}
		if r.Kind == record.Instrumented {
			continue
		}
		k := key{plan.Key(r.Cell), r.Boot}
		n, ok := at[k]
		if !ok {
			n = len(all)
			at[k] = n
			all = append(all, &Series{Cell: r.Cell, Boot: r.Boot, Metric: m})
		}
		s := all[n]
		if r.Status != record.OK {
			s.Failed = append(s.Failed, r)
		} else if v, ok := m.Of(r); ok {
			s.Points = append(s.Points, Point{r, v})
		} else {
			s.Without = append(s.Without, r)
		}
	}
	for _, s := range all {
		slices.SortStableFunc(s.Points, func(a, b Point) int {
			return cmp.Or(cmp.Compare(order[a.Run.Session], order[b.Run.Session]), cmp.Compare(a.Run.Seq, b.Run.Seq))
		})
	}
	return all
}

// Values gives the figures in order.
func (s *Series) Values() []float64 {
	vs := make([]float64, len(s.Points))
	for i, p := range s.Points {
		vs[i] = p.Value
	}
	return vs
}

// Auto is the discard that leaves out the start-up that was found.
const Auto = -1

// Keep gives the points that figures are made of: all but the first discard
// ones or, with Auto, all but the start-up. Where there is no steady state all
// are kept, since no run is then better than another. At least one point
// stays.
func (s *Series) Keep(discard int) []Point {
	if discard == Auto {
		discard = SteadyState(s.Values()).Start
	}
	return s.Points[max(0, min(discard, len(s.Points)-1)):]
}
