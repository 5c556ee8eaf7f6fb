package compare

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// MannWhitney gives the p-value of the rank test that benchstat uses. It is
// shown beside the verdict and never decides: with few units it cannot reach a
// small p at all. NaN where a side is empty.
func MannWhitney(before, after []float64) float64 {
	if len(before) == 0 || len(after) == 0 {
		return math.NaN()
	}
	t := benchmath.DefaultThresholds
	sample := func(xs []float64) *benchmath.Sample { return benchmath.NewSample(slices.Clone(xs), &t) }
	return benchmath.AssumeNothing.Compare(sample(before), sample(after)).P
}

// SignedRank gives the two-sided p-value of Wilcoxon's signed-rank test of
// pairs: exact up to 30 pairs, normal beyond. Zero differences are left out;
// tied ones share their rank. NaN without a difference.
func SignedRank(before, after []float64) float64 {
	type diff struct{ size, sign float64 }
	var ds []diff
	for i := range before {
		if d := after[i] - before[i]; d != 0 {
			ds = append(ds, diff{math.Abs(d), math.Copysign(1, d)})
		}
	}
	n := len(ds)
	if n == 0 {
		return math.NaN()
	}
	slices.SortFunc(ds, func(a, b diff) int {
		if a.size < b.size {
			return -1
		}
		return 1
	})
	// Ranks doubled, so that shared ones are whole numbers.
	ranks := make([]int, n)
	for i := 0; i < n; {
		j := i
		for j < n && ds[j].size == ds[i].size {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j
		}
		i = j
	}
	total, up := 0, 0
	var square float64
	for i, r := range ranks {
		total += r
		square += float64(r) * float64(r)
		if ds[i].sign > 0 {
			up += r
		}
	}
	least := min(up, total-up)
	if n > 30 {
		z := (float64(least) - float64(total)/2) / math.Sqrt(square/4)
		return math.Min(1, math.Erfc(-z/math.Sqrt2))
	}
	// ways[s]: share of the sign patterns whose positive ranks add up to s.
	ways := make([]float64, total+1)
	ways[0] = 1
	for _, r := range ranks {
		for s := total; s >= 0; s-- {
			with := 0.0
			if s >= r {
				with = ways[s-r]
			}
			ways[s] = (ways[s] + with) / 2
		}
	}
	var p float64
	for s := 0; s <= least; s++ {
		p += ways[s]
	}
	return math.Min(1, 2*p)
}
