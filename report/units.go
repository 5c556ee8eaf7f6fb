package report

import (
	"fmt"
	"math"
	"strconv"
)

// Count writes a number of things with three digits: 7, 0.25, 12.3k, 1.20M.
func Count(v float64) string {
	return scale(v, []string{"", "k", "M", "G", "T"}, "")
}

// Nanoseconds writes a time with three digits: 830 ns, 18.3 µs, 1.20 ms, 4.51 s.
func Nanoseconds(ns float64) string {
	return scale(ns, []string{"ns", "µs", "ms", "s"}, " ")
}

// scale writes v with three significant digits in the first of the units, each
// a thousand times the one before, that keeps it under 1000.
func scale(v float64, units []string, space string) string {
	for i, u := range units {
		// 999.5 is written 1.00k, not 1000.
		if math.Abs(v) < 999.5 || i == len(units)-1 {
			if i == 0 && v == math.Trunc(v) {
				return strconv.FormatFloat(v, 'f', 0, 64) + space + u
			}
			return digits(v) + space + u
		}
		v /= 1000
	}
	panic("unreachable")
}

// digits writes v with three significant digits, but no more than two behind
// the point.
func digits(v float64) string {
	places := 2
	switch a := math.Abs(v); {
	case a >= 99.95:
		places = 0
	case a >= 9.995:
		places = 1
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// percent writes a share in percent, to one place below 10.
func percent(v float64) string {
	if math.Abs(v) < 9.95 {
		return fmt.Sprintf("%.1f %%", v)
	}
	return fmt.Sprintf("%.0f %%", v)
}
