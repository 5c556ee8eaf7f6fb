package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// USL is the Universal Scalability Law (Gunther) fitted to throughput against
// parallelism N:
//
//	X(N) = λN / (1 + σ(N-1) + κN(N-1))
//
// λ is the rate of one client, σ (contention) the share that is serialised, κ
// (coherency) the cost of each pair of clients keeping agreed. It is a
// description of a curve, not a proof of a cause.
type USL struct {
	Refused string    `json:"refused,omitempty"` // why there is no fit; the estimates are then zero
	Lambda  Estimate  `json:"lambda"`            // operations a second
	Sigma   Estimate  `json:"contention"`
	Kappa   Estimate  `json:"coherency"`
	Peak    *Estimate `json:"peak,omitempty"`   // N of the greatest throughput; nil where κ is 0: none in reach
	Misfit  float64   `json:"misfit,omitempty"` // root mean square of the rungs' relative distance from the curve
	Rungs   int       `json:"rungs"`
}

// Estimate is a fitted value with its 95 % interval, which may be unbounded.
type Estimate struct{ Value, Lo, Hi float64 }

// MarshalJSON writes [value, lo, hi], null where a bound is infinite.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal([]*float64{number(e.Value), number(e.Lo), number(e.Hi)})
}

// What a fit must have.
const (
	uslRungs  = 4    // one more than parameters
	uslMisfit = 0.10 // of a rung's mean, root mean square
)

// FitUSL fits the law by least squares on logarithms: ns[i] clients did xs[i]
// operations a second. σ and κ are held at 0 where the best fit would have
// them below.
func FitUSL(ns []int, xs []float64) *USL {
	rungs := slices.Compact(slices.Sorted(slices.Values(ns)))
	if len(rungs) < uslRungs {
		return &USL{Refused: fmt.Sprintf("%d different numbers of clients are too few: it takes %d", len(rungs), uslRungs)}
	}
	free := [3]bool{true, true, true}
	var p [3]float64
	for {
		var ok bool
		if p, ok = uslNewton(ns, xs, free); !ok {
			return &USL{Refused: "no least-squares fit was found"}
		}
		// Hold what went under 0, the worse one first.
		switch {
		case free[2] && p[2] < 0 && !(free[1] && p[1] < 0 && p[1] < p[2]):
			free[2] = false
			continue
		case free[1] && p[1] < 0:
			free[1] = false
			continue
		}
		break
	}
	f := &USL{Rungs: len(rungs)}
	var total, misfit float64
	k := 0
	for _, on := range free {
		if on {
			k++
		}
	}
	for _, n := range rungs {
		var sum float64
		count := 0.0
		for i := range ns {
			if ns[i] == n {
				r := math.Log(xs[i]) - uslLog(p, n)
				total += r * r
				sum += r
				count++
			}
		}
		misfit += sum / count * sum / count
	}
	f.Misfit = math.Sqrt(misfit / float64(len(rungs)))
	if f.Misfit > uslMisfit {
		return &USL{Refused: fmt.Sprintf("it does not fit: the curve misses the rungs by %s", percent(f.Misfit)), Misfit: f.Misfit, Rungs: len(rungs)}
	}
	// Where the curve misses the rungs by more than their runs scatter, the
	// rungs are what there is to go by.
	df := float64(len(ns) - k)
	s2 := total / df
	if byRung := misfit / float64(len(rungs)-k) * float64(len(ns)) / float64(len(rungs)); byRung > s2 {
		df, s2 = float64(len(rungs)-k), byRung
	}
	cov := uslCovariance(ns, p, free, s2)
	t := tQuantile((1-confidence)/2, df)
	about := func(i int) Estimate {
		half := t * math.Sqrt(cov[i][i])
		return Estimate{p[i], p[i] - half, p[i] + half}
	}
	l := about(0)
	f.Lambda = Estimate{math.Exp(l.Value), math.Exp(l.Lo), math.Exp(l.Hi)}
	f.Sigma, f.Kappa = about(1), about(2)
	f.Sigma.Lo, f.Kappa.Lo = math.Max(0, f.Sigma.Lo), math.Max(0, f.Kappa.Lo)
	if s, c := p[1], p[2]; c > 0 && s < 1 {
		// The delta method on ln N.
		v := cov[1][1]/(1-s)/(1-s) + cov[2][2]/c/c + 2*cov[1][2]/(1-s)/c
		half, at := t*math.Sqrt(math.Max(0, v))/2, math.Sqrt((1-s)/c)
		f.Peak = &Estimate{at, at * math.Exp(-half), at * math.Exp(half)}
	}
	return f
}

// uslLog is ln X(n) for p = ln λ, σ, κ.
func uslLog(p [3]float64, n int) float64 {
	N := float64(n)
	return p[0] + math.Log(N) - math.Log(uslCost(p, N))
}

func uslCost(p [3]float64, n float64) float64 { return 1 + p[1]*(n-1) + p[2]*n*(n-1) }

// uslGradient is the derivative of uslLog after each parameter.
func uslGradient(p [3]float64, n int) [3]float64 {
	N := float64(n)
	c := uslCost(p, N)
	return [3]float64{1, -(N - 1) / c, -N * (N - 1) / c}
}

// uslNewton minimises the squares by Gauss-Newton steps, shortened where they
// would lead uphill (Levenberg and Marquardt). Parameters that are not free
// are 0.
func uslNewton(ns []int, xs []float64, free [3]bool) ([3]float64, bool) {
	squares := func(p [3]float64) float64 {
		var s float64
		for i, n := range ns {
			if uslCost(p, float64(n)) <= 0 {
				return math.Inf(1)
			}
			r := math.Log(xs[i]) - uslLog(p, n)
			s += r * r
		}
		return s
	}
	best, least := [3]float64{}, math.Inf(1)
	for _, sigma := range []float64{0.001, 0.05, 0.5} {
		for _, kappa := range []float64{1e-6, 1e-4, 1e-2} {
			p := [3]float64{0, sigma, kappa}
			for j := range p {
				if !free[j] {
					p[j] = 0
				}
			}
			for i, n := range ns { // the best λ for these
				p[0] += (math.Log(xs[i]) - uslLog([3]float64{0, p[1], p[2]}, n)) / float64(len(ns))
			}
			if s := squares(p); s < least {
				best, least = p, s
			}
		}
	}
	p, damping := best, 1e-3
	for range 200 {
		var a [3][3]float64
		var g [3]float64
		for i, n := range ns {
			d, r := uslGradient(p, n), math.Log(xs[i])-uslLog(p, n)
			for j := range 3 {
				g[j] += d[j] * r
				for k := range 3 {
					a[j][k] += d[j] * d[k]
				}
			}
		}
		for j := range 3 {
			a[j][j] *= 1 + damping
			if !free[j] {
				a[j] = [3]float64{}
				a[0][j], a[1][j], a[2][j] = 0, 0, 0
				a[j][j], g[j] = 1, 0
			}
		}
		inv, ok := invert(a)
		if !ok {
			return p, false
		}
		q := p
		for j := range 3 {
			for k := range 3 {
				q[j] += inv[j][k] * g[k]
			}
		}
		s := squares(q)
		if s > least {
			if damping *= 10; damping > 1e12 {
				return p, true
			}
			continue
		}
		done := least-s <= 1e-14*(1+least)
		p, least, damping = q, s, damping/10
		if done {
			return p, true
		}
	}
	return p, true
}

func uslCovariance(ns []int, p [3]float64, free [3]bool, s2 float64) [3][3]float64 {
	var a [3][3]float64
	for _, n := range ns {
		d := uslGradient(p, n)
		for j := range 3 {
			for k := range 3 {
				if free[j] && free[k] {
					a[j][k] += d[j] * d[k]
				}
			}
		}
	}
	for j := range 3 {
		if !free[j] {
			a[j][j] = 1
		}
	}
	inv, ok := invert(a)
	for j := range 3 {
		for k := range 3 {
			switch {
			case !ok:
				inv[j][k] = math.Inf(1)
			case !free[j] || !free[k]:
				inv[j][k] = 0
			default:
				inv[j][k] *= s2
			}
		}
	}
	return inv
}

// invert a symmetric 3×3 matrix, scaled first: its entries differ by many
// orders of magnitude.
func invert(a [3][3]float64) (inv [3][3]float64, ok bool) {
	var d [3]float64
	for j := range 3 {
		if a[j][j] <= 0 {
			return inv, false
		}
		d[j] = math.Sqrt(a[j][j])
	}
	for j := range 3 {
		for k := range 3 {
			a[j][k] /= d[j] * d[k]
		}
	}
	cofactor := func(r, c int) float64 {
		r1, r2, c1, c2 := (r+1)%3, (r+2)%3, (c+1)%3, (c+2)%3
		return a[r1][c1]*a[r2][c2] - a[r1][c2]*a[r2][c1]
	}
	det := a[0][0]*cofactor(0, 0) + a[0][1]*cofactor(0, 1) + a[0][2]*cofactor(0, 2)
	if math.Abs(det) < 1e-14 {
		return inv, false
	}
	for j := range 3 {
		for k := range 3 {
			inv[j][k] = cofactor(k, j) / det / (d[j] * d[k])
		}
	}
	return inv, true
}

func (f *USL) text(side string) string {
	if f.Refused != "" {
		return side + ": no fit: " + f.Refused
	}
	peak := "no peak in reach"
	if f.Peak != nil {
		peak = fmt.Sprintf("peak at %.3g clients (%.3g … %.3g)", f.Peak.Value, f.Peak.Lo, f.Peak.Hi)
	}
	return fmt.Sprintf("%s: contention %.3g (%.3g … %.3g), coherency %.2g (%.2g … %.2g), %s", side,
		f.Sigma.Value, f.Sigma.Lo, f.Sigma.Hi, f.Kappa.Value, f.Kappa.Lo, f.Kappa.Hi, peak)
}
