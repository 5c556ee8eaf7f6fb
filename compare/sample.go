package compare

import (
	"fmt"
	"math"
	"slices"

	"udsbench/record"
	"udsbench/series"
)

// The units of replication.
const (
	UnitBoot = "boot"
	UnitRun  = "run"
)

// Unit is what counts once: a boot with its runs, or one run.
type Unit struct {
	Boot   string
	Points []series.Point // the runs that were kept
}

func (u Unit) logs() []float64 {
	ls := make([]float64, len(u.Points))
	for i, p := range u.Points {
		ls[i] = math.Log(p.Value)
	}
	return ls
}

// Mean is the arithmetic mean of the unit's runs: of rates, so that it stands
// for all that was done in the time.
func (u Unit) Mean() float64 {
	var sum float64
	for _, p := range u.Points {
		sum += p.Value
	}
	return sum / float64(len(u.Points))
}

// Log is the logarithm of Mean, the figure that is compared.
func (u Unit) Log() float64 { return math.Log(u.Mean()) }

// Sample is one side of one cell.
type Sample struct {
	Side      string
	Units     []Unit
	Series    []*series.Series // what the units were made of, start-up included
	Failed    int              // runs that failed
	Without   int              // runs that lack the figure
	Discarded int              // runs left out as start-up
	Left      []int            // of these, those of each of Series
	Boots     int
}

// discard says how many first runs of a series are left out.
type discard func(*series.Series) int

// discardOf is what --discard asked for. A start-up found in each series by
// itself depends on its values: where runs are the units that costs coverage
// (89 % instead of 95 % in simulation), so there the whole session has one
// start-up, the lower median of those of its series. What is not common to most
// cells is then kept.
func discardOf(asked int, unit string, all []*series.Series) discard {
	if asked == series.Auto && takeTurns(all) {
		return func(*series.Series) int { return 0 } // sets are made anew each time, and have no start-up
	}
	if asked != series.Auto || unit == UnitBoot {
		return func(s *series.Series) int { return len(s.Points) - len(s.Keep(asked)) }
	}
	starts := map[string][]int{}
	for _, s := range all {
		if st := series.SteadyState(s.Values()); st.State != series.Short {
			starts[s.Boot] = append(starts[s.Boot], st.Start)
		}
	}
	return func(s *series.Series) int {
		all := starts[s.Boot]
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return len(s.Points) - len(s.Keep(all[(len(all)-1)/2]))
	}
}

// takeTurns reports whether the runs of series took turns in short slices.
func takeTurns(all []*series.Series) bool {
	for _, s := range all {
		for _, p := range s.Points {
			return p.Run.Paired != nil
		}
	}
	return false
}

// sampleOf makes the units of one cell's series (one for each boot).
func sampleOf(side string, all []*series.Series, unit string, left discard) *Sample {
	s := &Sample{Side: side, Series: all}
	for _, one := range all {
		s.Failed += len(one.Failed)
		s.Without += len(one.Without)
		if len(one.Points) == 0 {
			s.Left = append(s.Left, 0)
			continue
		}
		s.Boots++
		n := left(one)
		kept := one.Points[n:]
		s.Left = append(s.Left, n)
		s.Discarded += n
		if unit == UnitBoot {
			s.Units = append(s.Units, Unit{one.Boot, kept})
			continue
		}
		for _, p := range kept {
			s.Units = append(s.Units, Unit{one.Boot, []series.Point{p}})
		}
	}
	return s
}

// Logs gives the figures that are compared, in order.
func (s *Sample) Logs() []float64 {
	ls := make([]float64, len(s.Units))
	for i, u := range s.Units {
		ls[i] = u.Log()
	}
	return ls
}

// Values gives the figures of all runs that were kept.
func (s *Sample) Values() []float64 {
	var vs []float64
	for _, u := range s.Units {
		for _, p := range u.Points {
			vs = append(vs, p.Value)
		}
	}
	return vs
}

// usable says why the sample cannot be compared; "" where it can.
func (s *Sample) usable() string {
	switch {
	case len(s.Units) > 0:
		return ""
	case s.Failed > 0:
		return fmt.Sprintf("%s: all %s failed", s.Side, plural(s.Failed, "run"))
	case s.Without > 0:
		return fmt.Sprintf("%s: no run has this figure (%s)", s.Side, s.whyWithout())
	}
	return fmt.Sprintf("%s has no run of this cell", s.Side)
}

func (s *Sample) whyWithout() string {
	for _, one := range s.Series {
		for _, r := range one.Without {
			name := one.Metric.Name
			if name != series.Throughput.Name {
				name = "latency_ns"
			}
			if why := r.Unavailable[name]; why != "" {
				return why
			}
		}
	}
	return "the record gives no reason"
}

// withoutOutliers is the sample without the runs that stand apart within
// their boot, or, where runs are the units, within the boot's kept runs. It is
// s itself where none does.
func (s *Sample) withoutOutliers() (kept *Sample, outliers int) {
	byBoot := map[string][]series.Point{}
	var order []string
	for _, u := range s.Units {
		if _, ok := byBoot[u.Boot]; !ok {
			order = append(order, u.Boot)
		}
		byBoot[u.Boot] = append(byBoot[u.Boot], u.Points...)
	}
	out := map[*record.Run]bool{}
	for _, b := range order {
		ps := byBoot[b]
		vs := make([]float64, len(ps))
		for i, p := range ps {
			vs[i] = p.Value
		}
		for i, marked := range series.Outliers(vs) {
			if marked {
				out[ps[i].Run] = true
			}
		}
	}
	if len(out) == 0 {
		return s, 0
	}
	t := *s
	t.Units = nil
	for _, u := range s.Units {
		u.Points = slices.DeleteFunc(slices.Clone(u.Points), func(p series.Point) bool { return out[p.Run] })
		if len(u.Points) > 0 {
			t.Units = append(t.Units, u)
		}
	}
	return &t, len(out)
}

// place is where a run stood: runs of one place belong together.
type place struct {
	session, boot string
	block         int
}

// pairs are logarithms that belong together by block.
type pairs struct {
	before, after []float64
	sets          bool // each pair is one set of processes whose levels took turns
}

// inPlaces gives the runs of both samples by where they stood, those places
// alone that have runs of both.
func inPlaces(before, after *Sample) (b, a [][]series.Point) {
	m1, order := byPlace(before)
	m2, _ := byPlace(after)
	for _, k := range order {
		if m2[k] != nil {
			b, a = append(b, m1[k]), append(a, m2[k])
		}
	}
	return b, a
}

func byPlace(s *Sample) (map[place][]series.Point, []place) {
	m := map[place][]series.Point{}
	var order []place
	for _, u := range s.Units {
		for _, p := range u.Points {
			k := place{p.Run.Session, p.Run.Boot, p.Run.Block}
			if m[k] == nil {
				order = append(order, k)
			}
			m[k] = append(m[k], p)
		}
	}
	return m, order
}

// pairUp pairs both samples by block, where they were run in blocks together: at
// least two blocks, and most runs of both sides in them. Several runs of a side
// in one block are averaged. Of levels that took turns in short slices, each
// pair is the median ratio within their rounds, against 0.
func pairUp(before, after *Sample) (p pairs, ok bool) {
	_, order := byPlace(before)
	_, order2 := byPlace(after)
	m1, m2 := inPlaces(before, after)
	for i := range m1 {
		r1, r2 := m1[i][0].Run, m2[i][0].Run
		if r1.Paired != nil && r2.Paired != nil && len(m1[i]) == 1 && len(m2[i]) == 1 {
			if log, ok := setRatio([]*record.Run{r1, r2}, r1.Paired.Level, r2.Paired.Level); ok {
				p.before, p.after, p.sets = append(p.before, 0), append(p.after, log), true
			}
			continue
		}
		p.before = append(p.before, Unit{Points: m1[i]}.logMean())
		p.after = append(p.after, Unit{Points: m2[i]}.logMean())
	}
	// What came from other programs has no blocks: one file is no block.
	inBlocks := slices.ContainsFunc(order, func(k place) bool { return k.boot != "" || k.block > 0 })
	ok = inBlocks && len(p.before) >= 2 && 5*len(p.before) >= 4*max(len(order), len(order2))
	return p, ok
}

// logMean is the mean of the logarithms of the unit's runs.
func (u Unit) logMean() float64 {
	m, _, _ := moments(u.logs())
	return m
}

// test gives the t and the rank test of the pairs. Sets are made anew each
// time, so that nothing carries over from one to the next.
func (p pairs) test() (*Difference, float64) {
	d := Pairs(p.before, p.after, !p.sets)
	d.sets = p.sets
	return d, SignedRank(p.before, p.after)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
