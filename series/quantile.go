package series

import (
	"math"
	"slices"
)

// quantile interpolates between the order statistics that enclose q (0 to 1),
// the first being at 0 and the last at 1.
func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	at := q * float64(len(s)-1)
	lo := int(at)
	hi := min(lo+1, len(s)-1)
	return s[lo] + (at-float64(lo))*(s[hi]-s[lo])
}

// median without a copy that the caller would keep; xs is reordered.
func median(xs []float64) float64 {
	slices.Sort(xs)
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	return (xs[(n-1)/2] + xs[n/2]) / 2
}
