package series

import (
	"math"

	"udsbench/record"
)

// SliceRates gives the rate in each slice of the run's window, in operations a
// second; nil where the record does not have them. A slice with no operation
// counts as half of one, so that it has a logarithm.
func SliceRates(r *record.Run) []float64 {
	if len(r.Slices) == 0 || len(r.Slices) != len(r.SliceNS) {
		return nil
	}
	rates := make([]float64, len(r.Slices))
	for i, ops := range r.Slices {
		if r.SliceNS[i] <= 0 {
			return nil
		}
		rates[i] = math.Max(float64(ops), 0.5) / float64(r.SliceNS[i]) * 1e9
	}
	return rates
}

// WarmUp is what the slices of a series' runs say of the time before the window.
type WarmUp struct {
	Runs     int     // runs whose slices could be read
	StartUp  int     // of these, runs whose window begins with start-up
	Unsteady int     // of these, runs that never settled
	LongestS float64 // the longest start-up inside a window, in seconds
}

// WarmUp looks for start-up inside the windows. Where many runs have it,
// warm-up was too short.
func (s *Series) WarmUp() WarmUp {
	var w WarmUp
	for _, p := range s.Points {
		rates := SliceRates(p.Run)
		if len(rates) < shortest {
			continue
		}
		w.Runs++
		switch st := SteadyState(rates); st.State {
		case StartUp:
			w.StartUp++
			var ns int64
			for _, d := range p.Run.SliceNS[:st.Start] {
				ns += d
			}
			w.LongestS = math.Max(w.LongestS, float64(ns)/1e9)
		case Unsteady:
			w.Unsteady++
		}
	}
	return w
}
