package pingpong

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

// CalibrateSpin measures the turns of spin that take a microsecond, on the CPU
// and at the frequency that it is called at: the best of twenty tries, since
// all that disturbs makes it slower.
func CalibrateSpin() float64 {
	const turns = 50_000
	best := int64(1 << 62)
	for range 20 {
		t := nanotime()
		spin(turns)
		best = min(best, nanotime()-t)
	}
	return turns * 1e3 / float64(max(best, 1))
}

// Spins is the turns of spin that are ns nanoseconds of work; at least 1.
func (s *Seat) Spins(ns int64) uint64 {
	return max(uint64(float64(ns)*s.process.spec.SpinPerUS/1e3), 1)
}
