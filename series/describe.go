package series

import (
	"math"

	"github.com/montanaflynn/stats"
)

// Figures describes a sample. Those that need more values than there are, are
// NaN: SD needs two.
type Figures struct {
	N                              int
	Min, Q1, Median, Mean, Q3, Max float64
	SD                             float64 // of the sample (divided by n - 1)
	CV                             float64 // SD / Mean
}

// Describe gives the figures of xs.
func Describe(xs []float64) Figures {
	nan := math.NaN()
	f := Figures{N: len(xs), Min: nan, Q1: nan, Median: nan, Mean: nan, Q3: nan, Max: nan, SD: nan, CV: nan}
	if len(xs) == 0 {
		return f
	}
	// The only errors are those of an empty input.
	f.Min, _ = stats.Min(xs)
	f.Max, _ = stats.Max(xs)
	f.Median, _ = stats.Median(xs)
	f.Mean, _ = stats.Mean(xs)
	f.Q1, f.Q3 = quantile(xs, 0.25), quantile(xs, 0.75)
	if len(xs) > 1 {
		f.SD, _ = stats.StandardDeviationSample(xs)
		f.CV = f.SD / f.Mean
	}
	return f
}

// Logs gives the natural logarithms of xs, which are positive.
func Logs(xs []float64) []float64 {
	ls := make([]float64, len(xs))
	for i, x := range xs {
		ls[i] = math.Log(x)
	}
	return ls
}
