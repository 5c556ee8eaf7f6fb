package compare

import (
	"fmt"
	"math"

	"udsbench/series"
)

// Verdict is the word about one cell.
type Verdict string

const (
	FailedCell Verdict = "failed"    // a side has no usable runs
	Same       Verdict = "same"      // the interval lies inside the practical threshold
	Faster     Verdict = "faster"    // the interval excludes 1 and the adjusted p is under 0.05
	Slower     Verdict = "slower"    // the same, the other way
	Undecided  Verdict = "undecided" // none of these
)

// Moved reports whether the verdict is faster or slower.
func (v Verdict) Moved() bool { return v == Faster || v == Slower }

// alpha bounds the adjusted p of a cell that moved.
const alpha = 0.05

// DefaultThreshold is the practical threshold: smaller changes are of no
// consequence.
const DefaultThreshold = 0.02

// decide gives the word for a difference, in the order in which the words are
// tried, and what is to be added to it. d is nil where there is no interval.
// The threshold t stands for the ratios from 1/(1+t) to 1+t, so that the word
// does not depend on which side is called before.
// Figures that are rounded themselves differ for sure only by more than that.
func decide(d *Difference, adjusted, threshold float64, m series.Metric) (Verdict, string) {
	if d == nil || d.exact() {
		return Undecided, ""
	}
	limit := math.Log1p(threshold)
	excludes := d.Lo > m.Resolution || d.Hi < -m.Resolution
	switch {
	case d.Lo > -limit && d.Hi < limit:
		if excludes {
			return Same, fmt.Sprintf("real, but under %s", percent(threshold))
		}
		return Same, ""
	case excludes && adjusted < alpha:
		if (d.Log > 0) != m.LowerIsBetter {
			return Faster, ""
		}
		return Slower, ""
	}
	return Undecided, ""
}

// percent writes a share as "2 %", with as few digits as it has.
func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }
