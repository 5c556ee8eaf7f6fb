package histogram

import (
	"fmt"
	"math"

	"udsbench/record"
)

// Unit is the unit of every histogram in a record.
const Unit = "ns"

// Histogram is merged counts with what is known exactly beside them. The zero
// value is empty and ready.
type Histogram struct {
	buckets [Buckets]uint64
	count   uint64
	sum     float64 // ns
	min     int64   // ns, exact; meaningful where count > 0
	max     int64
}

// Add counts one value of v nanoseconds; a negative v counts as 0.
func (h *Histogram) Add(v int64) {
	v = max(v, 0)
	h.buckets[Index(uint64(v))]++
	h.extend(1, float64(v), v, v)
}

// AddCounts merges what one worker counted: counts by Index (at most Buckets
// of them), and the sum, least and greatest of the values in nanoseconds,
// which are ignored where nothing was counted.
func AddCounts[T uint32 | uint64](h *Histogram, counts []T, sum uint64, least, greatest int64) {
	var n uint64
	for i, c := range counts {
		h.buckets[i] += uint64(c)
		n += uint64(c)
	}
	h.extend(n, float64(sum), least, greatest)
}

// Merge adds all that other holds. A nil other holds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil {
		return
	}
	for i, c := range other.buckets {
		h.buckets[i] += c
	}
	h.extend(other.count, other.sum, other.min, other.max)
}

func (h *Histogram) extend(n uint64, sum float64, least, greatest int64) {
	if n == 0 {
		return
	}
	if h.count == 0 {
		h.min, h.max = least, greatest
	}
	h.count += n
	h.sum += sum
	h.min = min(h.min, least)
	h.max = max(h.max, greatest)
}

// Count gives how many values were counted.
func (h *Histogram) Count() uint64 { return h.count }

// Min gives the least value in nanoseconds, exact; 0 where Count is 0.
func (h *Histogram) Min() int64 { return h.min }

// Max gives the greatest value in nanoseconds, exact; 0 where Count is 0.
func (h *Histogram) Max() int64 { return h.max }

// Mean gives the arithmetic mean in nanoseconds, from the values and not from
// the buckets; NaN where Count is 0.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return math.NaN()
	}
	return h.sum / float64(h.count)
}

// Quantile gives the value at q (0 to 1) by nearest rank: the middle of the
// bucket that holds the ceil(q·Count)th value, within 0.4 % of that value and
// never outside [Min, Max]. ok is false where Count is 0.
func (h *Histogram) Quantile(q float64) (ns int64, ok bool) {
	if h.count == 0 {
		return 0, false
	}
	// 0.07·100 is a little over 7 in binary: take the rounding error off, or
	// the rank is one too high.
	rank := uint64(math.Ceil(q * float64(h.count) * (1 - 1e-15)))
	rank = min(max(rank, 1), h.count)
	var seen uint64
	for i, c := range h.buckets {
		if seen += c; seen >= rank {
			return min(max(int64(Mid(uint32(i))), h.min), h.max), true
		}
	}
	panic("histogram: the buckets hold less than their count")
}

// Latency summarises h for a record; nil where Count is 0.
func (h *Histogram) Latency() *record.Latency {
	if h.count == 0 {
		return nil
	}
	at := func(q float64) int64 { v, _ := h.Quantile(q); return v }
	return &record.Latency{
		Count: h.count,
		Min:   h.min,
		Mean:  h.Mean(),
		P50:   at(0.50),
		P90:   at(0.90),
		P99:   at(0.99),
		P999:  at(0.999),
		Max:   h.max,
	}
}

// Record gives the buckets that are not empty, as a record keeps them; nil
// where Count is 0.
func (h *Histogram) Record() *record.Histogram {
	if h.count == 0 {
		return nil
	}
	r := &record.Histogram{Unit: Unit, SubBits: SubBits}
	for i, c := range h.buckets {
		if c > 0 {
			r.Buckets = append(r.Buckets, [2]uint64{uint64(i), c})
		}
	}
	return r
}

// FromRecord rebuilds the histogram of a record. The exact least, greatest and
// mean come from l; where l is nil they are read off the buckets. It is an
// error where the layout is another one, or the two disagree.
func FromRecord(r *record.Histogram, l *record.Latency) (*Histogram, error) {
	if r == nil {
		return nil, fmt.Errorf("the record has no histogram")
	}
	if r.Unit != Unit || r.SubBits != SubBits {
		return nil, fmt.Errorf("histogram in %q with sub_bits %d: this version reads %q with %d", r.Unit, r.SubBits, Unit, SubBits)
	}
	h := &Histogram{}
	for _, b := range r.Buckets {
		i, c := b[0], b[1]
		if i >= Buckets {
			return nil, fmt.Errorf("histogram bucket %d does not exist: the last is %d", i, Buckets-1)
		}
		if c == 0 {
			continue
		}
		if h.count+c < h.count {
			return nil, fmt.Errorf("histogram bucket %d counts %d: the total overflows", i, c)
		}
		h.buckets[i] += c
		low, high := int64(Low(uint32(i))), int64(High(uint32(i)))
		h.extend(c, float64(c)*float64(Mid(uint32(i))), low, high)
	}
	if l == nil || h.count == 0 && l.Count == 0 {
		return h, nil
	}
	if l.Count != h.count {
		return nil, fmt.Errorf("latency_ns counts %d operations, its histogram %d", l.Count, h.count)
	}
	h.min, h.max, h.sum = l.Min, l.Max, l.Mean*float64(l.Count)
	if h.min > h.max {
		return nil, fmt.Errorf("latency_ns has min %d above max %d", h.min, h.max)
	}
	return h, nil
}
