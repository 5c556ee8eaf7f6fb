package series

import (
	"math"

	moremath "github.com/aclements/go-moremath/stats"
)

// Drift is a straight line through the logarithms of a series against the
// order of its blocks.
type Drift struct {
	PerBlock float64 // relative change from one block to the next
	Whole    float64 // relative change from the first block to the last
	P        float64 // of "no drift", two-sided; NaN where it cannot be had
}

// Seen reports whether the drift is more than chance makes in one series of a
// hundred. (One in twenty would be seen somewhere in every session.)
func (d Drift) Seen() bool { return d.P < 0.01 }

// DriftOf fits the drift of points, least squares. It needs three blocks.
func DriftOf(points []Point) Drift {
	d := Drift{math.NaN(), math.NaN(), math.NaN()}
	var xs, ys []float64
	for i, p := range points {
		x := float64(p.Run.Block)
		if points[len(points)-1].Run.Block == points[0].Run.Block {
			x = float64(i) // imported results have no blocks, but an order
		}
		xs, ys = append(xs, x), append(ys, math.Log(p.Value))
	}
	n := len(xs)
	if n < 3 {
		return d
	}
	mx, my := mean(xs), mean(ys)
	var sxx, sxy, syy float64
	for i := range xs {
		sxx += (xs[i] - mx) * (xs[i] - mx)
		sxy += (xs[i] - mx) * (ys[i] - my)
		syy += (ys[i] - my) * (ys[i] - my)
	}
	if sxx == 0 {
		return d
	}
	slope := sxy / sxx
	d.PerBlock = math.Expm1(slope)
	d.Whole = math.Expm1(slope * (xs[n-1] - xs[0]))
	if rest := syy - slope*sxy; rest > 0 {
		t := math.Abs(slope) / math.Sqrt(rest/float64(n-2)/sxx)
		d.P = 2 * moremath.TDist{V: float64(n - 2)}.CDF(-t)
	}
	return d
}
