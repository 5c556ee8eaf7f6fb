package pingpong

import "udsbench/record"

// spin does n turns of work that needs nothing but the CPU: a chain of
// multiplications, each waiting for the last. It counts turns and not time, so
// that being preempted does not shorten it.
//
//go:nosplit
//go:norace
//go:noinline
func spin(n uint64) uint64 {
	x := n | 1
	for range n {
		x *= 0x9E3779B97F4A7C15
	}
	return x
}

// Calibration of spin agrees with itself where its three fastest tries lie no
// further apart than spinAgrees; until then it goes on trying.
const (
	spinAgrees = 0.01
	spinTries  = 20
	spinMost   = 400
)

// CalibrateSpin measures the turns of spin that take a microsecond, on the CPU
// and at the frequency that it is called at. The fastest try counts, since all
// that disturbs makes it slower; that others come near it says that it was not
// the clock that slipped, nor the only one that was not disturbed.
func CalibrateSpin() record.Spin {
	const turns = 50_000
	best := [3]int64{1 << 62, 1 << 62, 1 << 62}
	s := record.Spin{Spread: 1}
	for s.Tries < spinTries || s.Spread > spinAgrees && s.Tries < spinMost {
		t := nanotime()
		spin(turns)
		took := max(nanotime()-t, 1)
		for i := range best {
			if took < best[i] {
				took, best[i] = best[i], took
			}
		}
		s.Tries++
		s.Spread = float64(best[2])/float64(best[0]) - 1
	}
	s.PerUS = turns * 1e3 / float64(best[0])
	return s
}

// SpinAgrees reports whether the tries of a calibration lie near each other.
func SpinAgrees(s record.Spin) bool { return s.Spread <= spinAgrees }

// Spins is the turns of spin that are ns nanoseconds of work; at least 1.
func (s *Seat) Spins(ns int64) uint64 {
	return max(uint64(float64(ns)*s.process.spec.SpinPerUS/1e3), 1)
}
