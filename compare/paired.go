package compare

import (
	"math"
	"slices"

	"udsbench/record"
)

// setRatio is the logarithm of the median ratio of the rates of two levels
// within the rounds of one set.
func setRatio(set []*record.Run, before, after string) (float64, bool) {
	find := func(level string) *record.Run {
		for _, r := range set {
			if r.Paired.Level == level && r.Status == record.OK && len(r.Slices) == len(r.SliceNS) {
				return r
			}
		}
		return nil
	}
	a, b := find(before), find(after)
	if a == nil || b == nil || len(a.Slices) != len(b.Slices) {
		return 0, false
	}
	var logs []float64
	for i := range a.Slices {
		if a.Slices[i] == 0 || b.Slices[i] == 0 {
			continue
		}
		x := float64(a.Slices[i]) / float64(a.SliceNS[i])
		y := float64(b.Slices[i]) / float64(b.SliceNS[i])
		logs = append(logs, math.Log(y/x))
	}
	if len(logs)*2 < len(a.Slices) {
		return 0, false // most of its slices were taken away
	}
	slices.Sort(logs)
	n := len(logs)
	return (logs[n/2] + logs[(n-1)/2]) / 2, true
}
