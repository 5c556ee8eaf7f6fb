package locktable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"udsbench/lockwait"
	"udsbench/plan"
	"udsbench/record"
)

// Session is what a table is drawn from.
type Session struct {
	Name    string
	Runs    []record.Run
	Discard int // first runs of each cell that its figures leave out
}

// Side is one column block of a lock table: the instrumented runs of one cell
// in one session, or one server of a table measured elsewhere.
type Side struct {
	Name        string              `json:"name"`
	Runs        int                 `json:"runs,omitempty"`
	Failed      int                 `json:"failed,omitempty"` // instrumented runs that failed, beside Runs
	Rows        []record.Lock       `json:"locks"`
	Ops         *float64            `json:"ops,omitempty"`         // operations in the time that the rows cover
	CPUSeconds  *float64            `json:"cpu_seconds,omitempty"` // of all CPUs in that time
	Instruments []record.Instrument `json:"instruments,omitempty"` // one a run
	Price       *Price              `json:"price,omitempty"`
	NoPrice     string              `json:"price_unavailable,omitempty"`
	NoRuns      string              `json:"unavailable,omitempty"` // why no run of this cell was watched

	samples *int64 // threads looked at in all runs
	price   prices
}

// Table is one table: sides that are the same cell.
type Table struct {
	Cell    *record.Cell `json:"cell,omitempty"`
	Per     string       `json:"per"` // what an operation is
	Sides   []*Side      `json:"sides"`
	Changes []Change     `json:"changes,omitempty"` // of two sides, from the first to the second
}

// perOperation is what figures are counted by unless told otherwise.
const perOperation = "op"

// Tables groups the instrumented runs of one or more sessions by cell, in the
// order in which the cells first occur. A session without instrumented runs of
// a cell has a side without rows and without instruments, which says why. The
// error says why there is no table at all.
func Tables(sessions []Session) ([]*Table, error) {
	var tables []*Table
	byCell := map[string]*Table{}
	var names, reasons []string
	for i, session := range sessions {
		names = append(names, session.Name)
		for _, r := range session.Runs {
			k := plan.Key(r.Cell)
			t := byCell[k]
			if t == nil {
				cell := r.Cell
				t = &Table{Cell: &cell, Per: perOperation}
				for _, s := range sessions {
					t.Sides = append(t.Sides, &Side{Name: s.Name})
				}
				byCell[k] = t
				tables = append(tables, t)
			}
			t.Sides[i].add(r)
		}
	}
	tables = slices.DeleteFunc(tables, func(t *Table) bool {
		return !slices.ContainsFunc(t.Sides, func(s *Side) bool { return s.Runs > 0 || s.NoRuns != "" })
	})
	watchedAny := false
	for _, t := range byCell {
		for i, s := range t.Sides {
			s.Rows = MergeRows(s.Rows)
			for j := range s.Rows {
				r := &s.Rows[j]
				r.SampleShare = nil
				if r.Samples != nil && s.samples != nil && *s.samples > 0 {
					r.SampleShare = &record.Ratio{N: *r.Samples, Of: *s.samples}
				}
			}
			if watchedAny = watchedAny || s.Runs > 0; s.Runs > 0 {
				s.NoRuns = ""
				s.Price, s.NoPrice = s.price.price(sessions[i].Discard)
			} else if s.NoRuns != "" && !slices.Contains(reasons, s.NoRuns) {
				reasons = append(reasons, s.NoRuns)
			}
		}
	}
	if !watchedAny {
		slices.Sort(reasons)
		why := cmp.Or(strings.Join(reasons, "; "), "no run was instrumented for locks; measure with run --instrument locks")
		return nil, fmt.Errorf("%s: %s", strings.Join(names, ", "), why)
	}
	return tables, nil
}

// watchedLocks gives the lock instrument of a run, or nil.
func watchedLocks(r record.Run) *record.Instrument {
	for i := range r.Instruments {
		if r.Instruments[i].Name == "locks" {
			return &r.Instruments[i]
		}
	}
	return nil
}

// add takes a run of the side's cell.
func (s *Side) add(r record.Run) {
	inst := watchedLocks(r)
	switch {
	case r.Kind != record.Instrumented:
		if r.Status == record.OK {
			s.price.plain = append(s.price.plain, r.OpsPerS)
		}
		return
	case r.Status != record.OK:
		s.Failed++
		s.NoRuns = cmp.Or(s.NoRuns, "every instrumented run failed")
		return
	case inst == nil:
		if why := r.Unavailable["locks"]; why != "" {
			s.NoRuns = why
		}
		return
	}
	s.price.add(r)
	first := s.Runs == 0
	s.Runs++
	s.Rows = append(s.Rows, r.Locks...)
	s.Instruments = append(s.Instruments, *inst)
	// A sum that lacks a part is no sum.
	s.Ops = sum(first, s.Ops, func() *float64 {
		if r.Ops == nil {
			return nil
		}
		v := float64(*r.Ops)
		return &v
	}())
	s.CPUSeconds = sum(first, s.CPUSeconds, func() *float64 {
		if inst.WindowNS == nil || inst.CPUs == 0 {
			return nil
		}
		v := float64(*inst.WindowNS) / 1e9 * float64(inst.CPUs)
		return &v
	}())
	s.samples = sum(first, s.samples, sampled(r, inst))
}

// sampled is how many threads a run looked at. Rows tell in records that were
// made before instruments did.
func sampled(r record.Run, inst *record.Instrument) *int64 {
	if inst.Samples != nil {
		return inst.Samples
	}
	for _, l := range r.Locks {
		if l.SampleShare != nil {
			return &l.SampleShare.Of
		}
	}
	return nil
}

func sum[T int64 | float64](first bool, a, b *T) *T {
	if b == nil || a == nil && !first {
		return nil
	}
	v := *b
	if a != nil {
		v += *a
	}
	return &v
}

// rowKey is what makes two rows the same row.
type rowKey struct{ site, caller, kind, class, where string }

func keyOf(r *record.Lock) rowKey { return rowKey{r.Site, r.Caller, r.Kind, r.Class, r.Where} }

// MergeRows sums rows of the same site, caller, kind, class and context, as of
// several runs. Numbers of locks do not add up over runs: the greatest stays.
// A run that has not seen a row has no part in its sums; shares of samples are
// of what all runs sampled, and for whoever has the runs to set.
func MergeRows(rows []record.Lock) []record.Lock {
	byKey := map[rowKey]*record.Lock{}
	var out []*record.Lock
	for i := range rows {
		r := rows[i]
		k := keyOf(&r)
		have := byKey[k]
		if have == nil {
			byKey[k] = &r
			out = append(out, &r)
			continue
		}
		have.Count = plus(have.Count, r.Count)
		have.TotalNS = plus(have.TotalNS, r.TotalNS)
		have.Acquired = plus(have.Acquired, r.Acquired)
		have.Samples = plus(have.Samples, r.Samples)
		have.MinNS = pick(have.MinNS, r.MinNS, func(a, b int64) int64 { return min(a, b) })
		have.MaxNS = pick(have.MaxNS, r.MaxNS, func(a, b int64) int64 { return max(a, b) })
		if r.Addresses != nil && (have.Addresses == nil || *r.Addresses > *have.Addresses) {
			have.Addresses = r.Addresses
		}
		have.AtLeast = have.AtLeast || r.AtLeast
		have.SampleShare = nil // of which whole, the runs know, not the rows
		have.Histogram = mergeHistograms(have.Histogram, r.Histogram)
		have.Stacks = lockwait.MergeStacks(append(slices.Clone(have.Stacks), r.Stacks...))
		have.Columns, have.Points, have.Holders = nil, nil, nil // of one run only
	}
	merged := make([]record.Lock, len(out))
	for i, r := range out {
		merged[i] = *r
	}
	lockwait.SortRows(merged)
	return merged
}

// plus adds; a figure that one side lacks is lacking.
func plus(a, b *int64) *int64 {
	return pick(a, b, func(a, b int64) int64 { return a + b })
}

func pick(a, b *int64, f func(a, b int64) int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	v := f(*a, *b)
	return &v
}

func mergeHistograms(a, b *record.Histogram) *record.Histogram {
	if a == nil || b == nil || a.SubBits != b.SubBits || a.Unit != b.Unit {
		return nil
	}
	counts := map[uint64]uint64{}
	for _, h := range []*record.Histogram{a, b} {
		for _, bucket := range h.Buckets {
			counts[bucket[0]] += bucket[1]
		}
	}
	out := &record.Histogram{Unit: a.Unit, SubBits: a.SubBits}
	for i, n := range counts {
		out.Buckets = append(out.Buckets, [2]uint64{i, n})
	}
	slices.SortFunc(out.Buckets, func(a, b [2]uint64) int { return int(a[0]) - int(b[0]) })
	return out
}
