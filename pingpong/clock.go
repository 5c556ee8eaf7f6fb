package pingpong

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// The kinds of clock that a worker times operations with.
const (
	clockNone = iota
	clockVDSO
	clockSyscall
	clockTSC
)

// nanotime is the runtime's CLOCK_MONOTONIC, through the vDSO where the
// system has one. It is nosplit and needs no P.
//
//go:linkname nanotime runtime.nanotime
//go:noescape
func nanotime() int64

// counter reads the CPU's time stamp counter after all earlier instructions
// (RDTSCP on amd64, CNTVCT_EL0 on arm64).
//
//go:noescape
func counter() uint64

// Nanotime is CLOCK_MONOTONIC in nanoseconds, the time base of everything in
// the shared mapping.
func Nanotime() int64 { return nanotime() }

// Clock is how a worker times its operations: `--clock`.
type Clock struct {
	Kind  int    `json:"kind"`
	Every uint64 `json:"every,omitempty"` // time single operations, one in Every, at random phase; 0 chains every operation
	Mult  uint64 `json:"mult,omitempty"`  // nanoseconds a tick of the counter, times 2^32
}

// ParseClock reads a value of --clock: none, vdso, syscall, tsc or every=N.
func ParseClock(s string) (Clock, error) {
	switch {
	case s == "none":
		return Clock{Kind: clockNone}, nil
	case s == "vdso":
		return Clock{Kind: clockVDSO}, nil
	case s == "syscall":
		return Clock{Kind: clockSyscall}, nil
	case s == "tsc":
		if why := counterUnusable(); why != "" {
			return Clock{}, fmt.Errorf("clock tsc: %s; use vdso", why)
		}
		return Clock{Kind: clockTSC}, nil
	case strings.HasPrefix(s, "every="):
		n, err := strconv.ParseUint(s[len("every="):], 10, 32)
		if err != nil || n < 2 {
			return Clock{}, fmt.Errorf("clock %q: every= takes a whole number from 2 up; vdso times every operation", s)
		}
		return Clock{Kind: clockVDSO, Every: n}, nil
	}
	return Clock{}, fmt.Errorf("clock %q is none of none, vdso, syscall, tsc, every=N", s)
}

// Calibrate measures the counter against CLOCK_MONOTONIC over 20 ms where the
// clock needs it, and returns the clock with its multiplier.
func (c Clock) Calibrate() Clock {
	if c.Kind != clockTSC {
		return c
	}
	t0, n0 := counter(), nanotime()
	time.Sleep(20 * time.Millisecond)
	t1, n1 := counter(), nanotime()
	hi, lo := bits.Mul64(uint64(n1-n0), 1<<32)
	c.Mult, _ = bits.Div64(hi, lo, t1-t0)
	return c
}

// CostNS measures what one call of the clock costs: the least mean over
// twenty batches of a thousand calls. It is 0 for none.
func (c Clock) CostNS() float64 {
	if c.Kind == clockNone {
		return 0
	}
	w := &Worker{clock: uint32(c.Kind), mult: c.Mult}
	const calls = 1000
	best := int64(1 << 62)
	for range 20 {
		t := nanotime()
		for range calls {
			w.now()
		}
		best = min(best, nanotime()-t)
	}
	return float64(best) / calls
}

// now reads the worker's clock, in nanoseconds.
//
//go:nosplit
//go:norace
func (w *Worker) now() int64 {
	switch w.clock {
	case clockSyscall:
		var ts unix.Timespec
		rawClock(&ts)
		return ts.Nano()
	case clockTSC:
		hi, lo := bits.Mul64(counter(), w.mult)
		return int64(hi<<32 | lo>>32)
	}
	return nanotime()
}
