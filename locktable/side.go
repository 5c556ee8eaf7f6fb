package locktable

import (
	"encoding/json"
	"slices"

	"udsbench/lockwait"
	"udsbench/record"
)

// Side is one column block of a lock table: the instrumented runs of one cell
// in one session, or one server of a table measured elsewhere.
type Side struct {
	Name        string              `json:"name"`
	Runs        int                 `json:"runs,omitempty"`
	Rows        []record.Lock       `json:"locks"`
	Ops         *float64            `json:"ops,omitempty"`         // operations in the time that the rows cover
	CPUSeconds  *float64            `json:"cpu_seconds,omitempty"` // of all CPUs in that time
	Instruments []record.Instrument `json:"instruments,omitempty"` // one a run
	Throughput  *Spread             `json:"throughput_ratio,omitempty"`
}

// Spread is a ratio with the least and the greatest of its parts.
type Spread struct {
	Ratio float64 `json:"ratio"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// Table is one table: sides that are the same cell.
type Table struct {
	Cell  *record.Cell `json:"cell,omitempty"`
	Per   string       `json:"per"` // what an operation is
	Sides []*Side      `json:"sides"`
}

// Tables groups the instrumented runs of one or more sessions by cell, in the
// order in which the cells first occur. A session without instrumented runs of
// a cell has a side without rows and without instruments.
func Tables(names []string, sessions [][]record.Run) []*Table {
	var tables []*Table
	byCell := map[string]*Table{}
	for i, runs := range sessions {
		plain, watched := map[string][]float64{}, map[string][]float64{}
		for _, r := range runs {
			k := cellKey(r.Cell)
			if r.Status == record.OK && r.OpsPerS != nil {
				if r.Kind == record.Timed {
					plain[k] = append(plain[k], *r.OpsPerS)
				} else if watchedLocks(r) != nil {
					watched[k] = append(watched[k], *r.OpsPerS)
				}
			}
			inst := watchedLocks(r)
			if r.Kind != record.Instrumented || r.Status != record.OK || inst == nil {
				continue
			}
			t := byCell[k]
			if t == nil {
				cell := r.Cell
				t = &Table{Cell: &cell, Per: "op"}
				byCell[k] = t
				tables = append(tables, t)
			}
			for len(t.Sides) < len(sessions) {
				t.Sides = append(t.Sides, &Side{Name: names[len(t.Sides)]})
			}
			t.Sides[i].add(r, *inst)
		}
		for k, t := range byCell {
			if len(plain[k]) > 0 && len(watched[k]) > 0 {
				m := median(plain[k])
				t.Sides[i].Throughput = &Spread{median(watched[k]) / m, slices.Min(watched[k]) / m, slices.Max(watched[k]) / m}
			}
		}
	}
	for _, t := range tables {
		for _, s := range t.Sides {
			s.Rows = MergeRows(s.Rows)
		}
	}
	return tables
}

func cellKey(c record.Cell) string {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b)
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

func (s *Side) add(r record.Run, inst record.Instrument) {
	first := s.Runs == 0
	s.Runs++
	s.Rows = append(s.Rows, r.Locks...)
	s.Instruments = append(s.Instruments, inst)
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
}

func sum(first bool, a, b *float64) *float64 {
	if b == nil || a == nil && !first {
		return nil
	}
	v := *b
	if a != nil {
		v += *a
	}
	return &v
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// rowKey is what makes two rows the same row.
type rowKey struct{ site, caller, kind, class, where string }

func keyOf(r *record.Lock) rowKey { return rowKey{r.Site, r.Caller, r.Kind, r.Class, r.Where} }

// MergeRows sums rows of the same site, caller, kind, class and context, as of
// several runs. Numbers of locks do not add up over runs: the greatest stays.
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
		if have.SampleShare != nil && r.SampleShare != nil {
			have.SampleShare = &record.Ratio{N: have.SampleShare.N + r.SampleShare.N, Of: have.SampleShare.Of + r.SampleShare.Of}
		}
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
