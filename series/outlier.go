package series

import "math"

// outlierLimit is in robust standard deviations from the median.
const outlierLimit = 3.5

// outlierFloor keeps a sample whose middle half is all but equal (rounded
// figures) from calling everything else an outlier: 0.1 %.
const outlierFloor = 0.001

// Outliers marks the values of xs whose logarithm lies more than 3.5 robust
// standard deviations (1.4826 times the median absolute deviation, at least
// 0.1 %) from the median. Below five values none is marked: there is no telling.
func Outliers(xs []float64) []bool {
	marks := make([]bool, len(xs))
	if len(xs) < 5 {
		return marks
	}
	ls := Logs(xs)
	m := quantile(ls, 0.5)
	ds := make([]float64, len(ls))
	for i, l := range ls {
		ds[i] = math.Abs(l - m)
	}
	limit := outlierLimit * math.Max(1.4826*quantile(ds, 0.5), outlierFloor)
	for i := range ds {
		marks[i] = ds[i] > limit
	}
	return marks
}

// Without gives the values of xs that are not marked.
func Without(xs []float64, marks []bool) []float64 {
	var kept []float64
	for i, x := range xs {
		if !marks[i] {
			kept = append(kept, x)
		}
	}
	return kept
}
