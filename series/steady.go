package series

import (
	"fmt"
	"math"
)

// State is what change-point detection makes of a series.
type State string

const (
	Steady   State = "steady"          // from the first value on
	StartUp  State = "start-up"        // steady after the first Start values
	Unsteady State = "no steady state" // the level goes on changing, or scatters too widely to have one
	Short    State = "too short"       // fewer than five values: there is no telling
)

const (
	shortest  = 5
	sameLevel = 0.01 // segments within 1 % of the last one belong to its level
	tooNoisy  = 0.10 // neighbours that differ so much have no level
)

// Steadiness is the state of a series of values in order.
type Steadiness struct {
	State   State
	Start   int     // values of start-up; 0 unless State is StartUp
	Changes []int   // indices at which the level changes
	Noise   float64 // relative standard deviation from one value to the next
	Why     string  // one sentence for a person
}

// SteadyState finds where start-up ends: the values from there on lie at one
// level (within 1 %), and they are at least half of the series and three.
// There may be no such place. Values are positive.
func SteadyState(values []float64) Steadiness {
	n := len(values)
	if n < shortest {
		return Steadiness{State: Short, Noise: math.NaN(), Why: fmt.Sprintf("%d runs are too few to tell start-up from steady state", n)}
	}
	ls := Logs(values)
	s := Steadiness{Noise: Noise(ls)}
	s.Changes = ChangePoints(ls, s.Noise, Penalty)
	bounds := append(append([]int{0}, s.Changes...), n)
	level := make([]float64, len(bounds)-1)
	for i := range level {
		level[i] = mean(ls[bounds[i]:bounds[i+1]])
	}
	last := len(level) - 1
	first := last
	for first > 0 && math.Abs(level[first-1]-level[last]) <= sameLevel {
		first--
	}
	start := bounds[first]
	switch {
	case s.Noise > tooNoisy:
		s.State = Unsteady
		s.Why = fmt.Sprintf("one run differs from the next by about %.0f %%", 100*s.Noise*math.Sqrt2)
	case start == 0:
		s.State = Steady
		s.Why = "all runs lie at one level"
	case n-start >= 3 && 2*(n-start) >= n:
		s.State, s.Start = StartUp, start
		s.Why = fmt.Sprintf("the first %d of %d runs are start-up: %+.1f %% against the rest", start, n, 100*(math.Exp(mean(ls[:start])-mean(ls[start:]))-1))
	default:
		s.State = Unsteady
		s.Why = fmt.Sprintf("the level changes as late as after run %d of %d", start, n)
	}
	return s
}

func mean(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}
