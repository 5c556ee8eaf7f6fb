package compare

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts p-values for having looked at all of them (Holm 1979): the
// chance that any of the true nulls among them falls under 0.05 is at most
// 0.05, whatever their dependence. NaN stays NaN and is not counted.
func Holm(ps []float64) []float64 {
	adjusted := slices.Clone(ps)
	var order []int
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, ps[i]*float64(len(order)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
