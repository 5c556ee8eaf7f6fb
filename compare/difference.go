package compare

import (
	"math"

	"udsbench/series"
)

// confidence of every interval.
const confidence = 0.95

// Difference is the mean of logarithms after, less the mean before, with its
// 95 % interval and the p-value of "no difference": both are drawn from the
// same t, so that they never disagree.
type Difference struct {
	Log    float64 // exp(Log) is the ratio after/before
	SE     float64
	DF     float64
	Lo, Hi float64 // of Log
	P      float64 // two-sided
	Paired bool    // by block, else Welch's
	N      [2]int  // units before and after; pairs where Paired

	sets bool // the pairs are sets of processes whose levels took turns
}

// Ratio gives after/before and its interval.
func (d *Difference) Ratio() (ratio, lo, hi float64) {
	return math.Exp(d.Log), math.Exp(d.Lo), math.Exp(d.Hi)
}

// swap gives the difference of before against after.
func (d *Difference) swap() *Difference {
	s := *d
	s.Log, s.Lo, s.Hi = -d.Log, -d.Hi, -d.Lo
	s.N[0], s.N[1] = d.N[1], d.N[0]
	return &s
}

// moments gives mean, variance (n - 1) and n.
func moments(xs []float64) (mean, variance float64, n int) {
	n = len(xs)
	for _, x := range xs {
		mean += x
	}
	mean /= float64(n)
	for _, x := range xs {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(n-1), n
}

// Welch compares two samples of logarithms by Welch's t. It is nil where one
// has fewer than two values: one value carries no spread. Where values follow
// each other (ordered is true: runs within a boot), each sample counts with its
// effective size.
func Welch(before, after []float64, ordered bool) *Difference {
	if len(before) < 2 || len(after) < 2 {
		return nil
	}
	m1, v1, n1 := moments(before)
	m2, v2, n2 := moments(after)
	e1, e2 := effective(before, ordered), effective(after, ordered)
	a, b := v1/e1, v2/e2
	d := &Difference{Log: m2 - m1, SE: math.Sqrt(a + b), N: [2]int{n1, n2}}
	d.DF = (a + b) * (a + b) / (a*a/(e1-1) + b*b/(e2-1)) // Welch and Satterthwaite
	if a+b == 0 {
		d.DF = e1 + e2 - 2
	}
	return d.finish()
}

// Pairs compares logarithms that belong together two by two (runs of one
// block) by the t of their differences; nil below two pairs. Where they follow
// each other (ordered), they count with their effective size.
func Pairs(before, after []float64, ordered bool) *Difference {
	if len(before) < 2 || len(before) != len(after) {
		return nil
	}
	ds := make([]float64, len(before))
	for i := range ds {
		ds[i] = after[i] - before[i]
	}
	m, v, n := moments(ds)
	e := effective(ds, ordered)
	d := &Difference{Log: m, SE: math.Sqrt(v / e), DF: e - 1, Paired: true, N: [2]int{n, n}}
	return d.finish()
}

// effective never goes under 2: with less there is no degree of freedom.
func effective(xs []float64, ordered bool) float64 {
	if !ordered {
		return float64(len(xs))
	}
	return math.Max(2, series.EffectiveSize(xs))
}

func (d *Difference) finish() *Difference {
	half := tQuantile((1-confidence)/2, d.DF) * d.SE
	d.Lo, d.Hi = d.Log-half, d.Log+half
	switch {
	case d.SE > 0:
		d.P = tTail(d.Log/d.SE, d.DF)
	case d.Log == 0:
		d.P = 1
	}
	return d
}

// exact reports whether figures repeat to the last digit and yet differ:
// rounded figures, whose spread is not known. No verdict may rest on it.
func (d *Difference) exact() bool { return d.SE == 0 && d.Log != 0 }
