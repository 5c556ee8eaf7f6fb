package series

import "math"

// Penalty is what a change point has to gain, in units of the noise's
// variance, before it is believed. With the noise estimated as Noise does, 18
// splits about one unchanging series in twenty, for series of 8 to 300 values
// and for normal as well as heavy-tailed noise (t with 4 degrees of freedom);
// fixed multiples of ln n do not hold that rate at both ends.
const Penalty = 18

// noiseFloor is the least noise that a series of logarithms is taken to have:
// 0.1 %. Changes smaller than that are of no interest, and rounded figures can
// repeat exactly.
const noiseFloor = 0.001

// Noise estimates the standard deviation of xs about a level that may change
// now and then: from the median difference between neighbours, which a few
// changes and outliers do not move. It is at least 0.001.
func Noise(xs []float64) float64 {
	if len(xs) < 2 {
		return noiseFloor
	}
	ds := make([]float64, len(xs)-1)
	for i := range ds {
		ds[i] = math.Abs(xs[i+1] - xs[i])
	}
	return math.Max(median(ds)/0.6745/math.Sqrt2, noiseFloor)
}

// ChangePoints gives the indices at which the mean of xs changes, by PELT
// (Killick, Fearnhead and Eckley 2012) with the least-squares cost in units of
// noise², and the given penalty a change. Single values and pairs that stand
// apart from their neighbours are taken for outliers, not for changes, but for
// the first two values: what stands apart there is start-up.
func ChangePoints(xs []float64, noise, penalty float64) []int {
	xs = clip(xs, noise)
	n := len(xs)
	// Sums are taken about the first value: it loses no digits to a large mean.
	sum, square := make([]float64, n+1), make([]float64, n+1)
	for i, x := range xs {
		x = (x - xs[0]) / noise
		sum[i+1] = sum[i] + x
		square[i+1] = square[i] + x*x
	}
	cost := func(from, to int) float64 {
		s := sum[to] - sum[from]
		return square[to] - square[from] - s*s/float64(to-from)
	}
	best := make([]float64, n+1) // the least cost of xs[:i]
	last := make([]int, n+1)     // where its last segment begins
	best[0] = -penalty
	starts := []int{0}
	for to := 1; to <= n; to++ {
		best[to] = math.Inf(1)
		for _, from := range starts {
			if c := best[from] + cost(from, to) + penalty; c < best[to] {
				best[to], last[to] = c, from
			}
		}
		// A start that is already worse than the best can never win again.
		kept := starts[:0]
		for _, from := range starts {
			if best[from]+cost(from, to) <= best[to] {
				kept = append(kept, from)
			}
		}
		starts = append(kept, to)
	}
	var points []int
	for at := n; at > 0 && last[at] > 0; at = last[at] {
		points = append([]int{last[at]}, points...)
	}
	return points
}

// clip moves values that are more than three noises from the median of the
// five around them to that median; the first two stay.
func clip(xs []float64, noise float64) []float64 {
	out := append([]float64(nil), xs...)
	var window [5]float64
	for i := 2; i < len(xs); i++ {
		w := window[:copy(window[:], xs[i-2:min(len(xs), i+3)])]
		if m := median(w); math.Abs(xs[i]-m) > 3*noise {
			out[i] = m
		}
	}
	return out
}
