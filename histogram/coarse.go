package histogram

import (
	"math"

	"udsbench/record"
)

// Coarse is a histogram with fewer buckets to a power of two than Histogram
// has, as those that are filled inside the kernel. Count, Total, Min and Max are
// exact and in nanoseconds; Counts is by bucket, of which 1<<SubBits make up a
// power of two.
type Coarse struct {
	SubBits                int
	Counts                 []uint64
	Count, Total, Min, Max uint64
}

// Merge adds all that o holds, which has as many buckets to a power of two.
func (c *Coarse) Merge(o Coarse) {
	if o.Count == 0 {
		return
	}
	if c.Count == 0 {
		c.SubBits, c.Min = o.SubBits, o.Min
	}
	c.Min, c.Max = min(c.Min, o.Min), max(c.Max, o.Max)
	c.Count += o.Count
	c.Total += o.Total
	counts := make([]uint64, max(len(c.Counts), len(o.Counts)))
	copy(counts, c.Counts)
	for i, n := range o.Counts {
		counts[i] += n
	}
	c.Counts = counts
}

// coarseBounds gives the least and the greatest value of bucket i.
func coarseBounds(i uint64, subBits int) (low, high uint64) {
	per := uint64(1) << subBits
	if i < per {
		return i, i
	}
	e := i>>subBits - 1
	low = (i - e<<subBits) << e
	return low, low + 1<<e - 1
}

// Quantile gives the value at q (0 to 1) by nearest rank: the middle of its
// bucket, never outside of [Min, Max]. With SubBits 2 it is within 1/8.
func (c Coarse) Quantile(q float64) int64 {
	rank := uint64(math.Ceil(q * float64(c.Count)))
	var seen uint64
	for i, n := range c.Counts {
		if seen += n; n > 0 && seen >= rank {
			low, high := coarseBounds(uint64(i), c.SubBits)
			return int64(min(max(low+(high-low)/2, c.Min), c.Max))
		}
	}
	return int64(c.Max)
}

// Record gives the summary and the buckets that are not empty as a record
// keeps them; nil where Count is 0.
func (c Coarse) Record() (*record.Latency, *record.Histogram) {
	if c.Count == 0 {
		return nil, nil
	}
	h := &record.Histogram{Unit: Unit, SubBits: c.SubBits}
	for i, n := range c.Counts {
		if n > 0 {
			h.Buckets = append(h.Buckets, [2]uint64{uint64(i), n})
		}
	}
	return &record.Latency{
		Count: c.Count, Min: int64(c.Min), Mean: float64(c.Total) / float64(c.Count), Max: int64(c.Max),
		P50: c.Quantile(0.5), P90: c.Quantile(0.9), P99: c.Quantile(0.99), P999: c.Quantile(0.999),
	}, h
}

// CoarseFromRecord rebuilds what Record gave; empty where either is nil.
func CoarseFromRecord(l *record.Latency, h *record.Histogram) Coarse {
	if l == nil || h == nil {
		return Coarse{}
	}
	c := Coarse{SubBits: h.SubBits, Count: l.Count, Total: uint64(math.Round(l.Mean * float64(l.Count))), Min: uint64(l.Min), Max: uint64(l.Max)}
	for _, b := range h.Buckets {
		if n := int(b[0]) + 1; n > len(c.Counts) && n <= Buckets {
			c.Counts = append(c.Counts, make([]uint64, n-len(c.Counts))...)
		}
		if b[0] < uint64(len(c.Counts)) {
			c.Counts[b[0]] += b[1]
		}
	}
	return c
}
