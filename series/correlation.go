package series

import "math"

// Autocorrelation gives the correlation of xs with itself lag values later, -1
// to 1; NaN where there are not three values more than the lag, or all are
// equal.
func Autocorrelation(xs []float64, lag int) float64 {
	n := len(xs)
	if n < lag+3 {
		return math.NaN()
	}
	m := mean(xs)
	var num, den float64
	for i, x := range xs {
		den += (x - m) * (x - m)
		if i >= lag {
			num += (x - m) * (xs[i-lag] - m)
		}
	}
	if den == 0 {
		return math.NaN()
	}
	return num / den
}

// EffectiveSize gives how many independent values the mean of xs is worth,
// between 1 and len(xs). A sample's autocorrelation scatters by 1/√n even
// where the values are independent, so it counts only where that of lag 1 is
// above 1.645/√n (one-sided 5 %) once its bias of -1/n is taken off; the
// size is then n(1-ρ)/(1+ρ), as for a first-order autoregression.
func EffectiveSize(xs []float64) float64 {
	n := float64(len(xs))
	rho := Autocorrelation(xs, 1)
	if math.IsNaN(rho) || rho+1/n < 1.645/math.Sqrt(n) {
		return n
	}
	rho = math.Min((n*rho+1)/(n-3), 0.95) // without its bias, about -(1+3ρ)/n
	return math.Max(1, math.Min(n, n*(1-rho)/(1+rho)))
}
