package compare

import "math"

// Components are the variances of the logarithms of one cell at each level,
// pooled over both sides.
type Components struct {
	Boot float64 // from boot to boot, of the boot itself
	Run  float64 // from run to run within a boot; NaN where every boot has one run
	Runs float64 // runs a boot, the harmonic mean
}

// Need is what would decide an undecided cell with 90 % probability if the
// difference stays what it is: so many more boots a side, or so many more runs
// in each boot (in all, where runs are the unit). Nil where that would not do,
// or cannot be known; Why then says so.
type Need struct {
	Boots *int   `json:"boots"`
	Runs  *int   `json:"runs"`
	Why   string `json:"why,omitempty"`
}

// needLimit is where "so many more" turns into "no number of".
const needLimit = 1000

// power is the probability with which Need and Self promise to decide.
const power = 0.9

// components splits the variance of two samples whose units hold several runs.
func components(before, after *Sample) Components {
	c := Components{Boot: math.NaN(), Run: math.NaN()}
	var within, withinDF, between, betweenDF, units, inverse float64
	for _, s := range []*Sample{before, after} {
		for _, u := range s.Units {
			logs := u.logs()
			units++
			inverse += 1 / float64(len(logs))
			if len(logs) > 1 {
				_, v, n := moments(logs)
				within += v * float64(n-1)
				withinDF += float64(n - 1)
			}
		}
		if len(s.Units) > 1 {
			_, v, n := moments(s.Logs())
			between += v * float64(n-1)
			betweenDF += float64(n - 1)
		}
	}
	c.Runs = units / inverse
	if withinDF > 0 {
		c.Run = within / withinDF
	}
	if betweenDF > 0 {
		c.Boot = between / betweenDF
		if withinDF > 0 {
			c.Boot = math.Max(0, c.Boot-c.Run/c.Runs)
		}
	}
	return c
}

// enough reports whether n units a side whose means have the given variance
// decide: as moved, the interval at the strictest adjustment over cells, or as
// same, the 95 % interval inside the threshold.
func enough(n int, variance, effect, threshold float64, cells int, paired bool) bool {
	df, k := float64(2*n-2), 2.0
	if paired {
		df, k = float64(n-1), 1 // variance is that of the differences
	}
	if df < 1 {
		return false
	}
	se := math.Sqrt(k * variance / float64(n))
	limit := math.Log1p(threshold)
	reach := tQuantile(1-power, df)
	moved := (tQuantile(alpha/2/float64(cells), df) + reach) * se
	same := (tQuantile((1-confidence)/2, df) + reach) * se
	return math.Abs(effect) > moved && math.Abs(effect)+same > limit || limit-math.Abs(effect) > same
}

// search gives the least n from least up to limit for which ok, and 0 where
// there is none; ok turns true once.
func search(least, limit int, ok func(int) bool) int {
	if least > limit || !ok(limit) {
		return 0
	}
	lo := least
	for hi := limit; lo < hi; {
		mid := (lo + hi) / 2
		if ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// need says what would decide a cell of unit boot.
func needBoots(d *Difference, c Components, threshold float64, cells int) Need {
	n := min(d.N[0], d.N[1])
	var need Need
	mean := c.Boot
	if !math.IsNaN(c.Run) {
		mean += c.Run / c.Runs
	}
	if all := search(n+1, n+needLimit, func(k int) bool { return enough(k, mean, d.Log, threshold, cells, false) }); all > 0 {
		more := all - n
		need.Boots = &more
	}
	if math.IsNaN(c.Run) {
		need.Why = "one run a boot: what more runs would give is not known"
		return need
	}
	runs := int(math.Round(c.Runs))
	if all := search(runs+1, runs+needLimit, func(k int) bool {
		return enough(n, c.Boot+c.Run/float64(k), d.Log, threshold, cells, false)
	}); all > 0 {
		more := all - runs
		need.Runs = &more
	} else {
		need.Why = "more runs in these boots would not do: the boots themselves differ too much"
	}
	return need
}

// needRuns says what would decide a cell of unit run.
func needRuns(d *Difference, threshold float64, cells int) Need {
	n := min(d.N[0], d.N[1])
	k := 2.0
	if d.Paired {
		k = 1
	}
	variance := d.SE * d.SE * float64(n) / k
	var need Need
	if all := search(n+1, n+needLimit, func(m int) bool { return enough(m, variance, d.Log, threshold, cells, d.Paired) }); all > 0 {
		more := all - n
		need.Runs = &more
	} else {
		need.Why = "not even 1000 more runs would do"
	}
	return need
}
