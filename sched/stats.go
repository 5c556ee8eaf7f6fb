package sched

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"udsbench/sysctl"
)

const schedStats = "kern.sched.stats"

// ErrNoStats says that a FreeBSD kernel does not count its switches by cause.
var ErrNoStats = errors.New("no kern.sched.stats: the kernel needs options SCHED_STATS")

// Stats reads kern.sched.stats.*, FreeBSD's switches by cause for the whole
// machine since boot: turnstile are threads that blocked on a lock, sleepq those
// that waited for something, owepreempt those that had to make room. Names are
// those below kern.sched.stats.
func Stats(r sysctl.Reader) (map[string]int64, error) {
	names, err := r.Names(schedStats)
	if err != nil && !errors.Is(err, sysctl.ErrNotExist) {
		return nil, err
	}
	out := map[string]int64{}
	for _, n := range names {
		short := strings.TrimPrefix(n, schedStats+".")
		if short == "reset" {
			continue // it clears, and counts nothing
		}
		text, err := r.Get(n)
		if err != nil {
			return nil, err
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no number", n, text)
		}
		out[short] = v
	}
	if len(out) == 0 {
		return nil, ErrNoStats
	}
	return out, nil
}

// Since gives the differences of two readings. A counter that one of them
// lacks, or that was reset between them, is left out.
func Since(before, after map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for n, v := range after {
		if b, ok := before[n]; ok && v >= b {
			out[n] = v - b
		}
	}
	return out
}
