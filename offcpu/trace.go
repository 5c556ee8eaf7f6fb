package offcpu

import (
	"cmp"
	"math"
	"slices"

	"udsbench/record"
)

// Options say what a Trace watches.
type Options struct {
	PIDs   []int // processes, all their threads included
	Stacks bool  // why they slept by function, not by system call; doubles the cost of a ping-pong
	Depth  int   // frames of a stack, 1 to 127; 0: the default
}

// ByDistance sums pairs of CPUs by the distance between the two, as level
// names it ("same CPU", "same core", …).
func ByDistance(pairs []record.CPUPair, level func(from, to int) string) map[string]int64 {
	out := map[string]int64{}
	for _, p := range pairs {
		out[level(p.From, p.To)] += p.N
	}
	return out
}

// bounds gives the least and the greatest value of bucket i of a histogram with
// 1<<subBits buckets to a power of two, as package histogram lays them out.
func bounds(i uint64, subBits int) (low, high uint64) {
	per := uint64(1) << subBits
	if i < per {
		return i, i
	}
	e := i>>subBits - 1
	low = (i - e<<subBits) << e
	return low, low + 1<<e - 1
}

// latencyOf draws a summary from buckets. Percentiles are the middles of their
// buckets, within 1/8 of the true value at subBits 2; they never leave min and max.
func latencyOf(count, total, least, most uint64, subBits int, hist []uint64) (*record.Latency, *record.Histogram) {
	if count == 0 {
		return nil, nil
	}
	h := &record.Histogram{Unit: "ns", SubBits: subBits}
	for i, n := range hist {
		if n > 0 {
			h.Buckets = append(h.Buckets, [2]uint64{uint64(i), n})
		}
	}
	at := func(q float64) int64 {
		rank := uint64(math.Ceil(q * float64(count)))
		var seen uint64
		for _, b := range h.Buckets {
			if seen += b[1]; seen >= rank {
				low, high := bounds(b[0], subBits)
				return int64(min(max(low+(high-low)/2, least), most))
			}
		}
		return int64(most)
	}
	return &record.Latency{
		Count: count, Min: int64(least), Mean: float64(total) / float64(count), Max: int64(most),
		P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999),
	}, h
}

// sortSleeps puts the greatest summed sleep first.
func sortSleeps(s []record.Sleep) {
	slices.SortStableFunc(s, func(a, b record.Sleep) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Caller, b.Caller))
	})
}
