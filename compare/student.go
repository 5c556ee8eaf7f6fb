package compare

import (
	"math"

	moremath "github.com/aclements/go-moremath/stats"
)

// tTail is the probability that |t| with df degrees of freedom is at least t.
func tTail(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return math.Min(1, 2*moremath.TDist{V: df}.CDF(-math.Abs(t)))
}

// tQuantile is the t with df degrees of freedom that tail (0 to 1) of the
// distribution lies above.
func tQuantile(tail, df float64) float64 {
	if tail == 0.5 {
		return 0
	}
	if tail > 0.5 {
		return -tQuantile(1-tail, df)
	}
	d := moremath.TDist{V: df}
	lo, hi := 0.0, 2.0
	for d.CDF(-hi) > tail {
		lo, hi = hi, 2*hi
	}
	// Newton's steps, kept inside the bracket: the tail is convex there.
	t := lo
	for range 60 {
		c := d.CDF(-t) - tail
		if c > 0 {
			lo = t
		} else {
			hi = t
		}
		next := t + c/d.PDF(t)
		if next <= lo || next >= hi {
			next = (lo + hi) / 2
		}
		if math.Abs(next-t) < 1e-12*(1+t) {
			return next
		}
		t = next
	}
	return t
}
