package runner

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/pingpong"
	"udsbench/record"
)

// window is what the coordinator itself saw while the window was open.
type window struct {
	edges   []edge
	starved []int // slices without an operation, by worker
	open    time.Time
	warmup  time.Duration
	host    hostCounters
	after   hostCounters
	own     int64 // the coordinator's own CPU time in ns
	above   string
}

// edge is one reading of all counters: the midpoint of the two clock readings
// around it, their distance, and the counts.
type edge struct {
	mid, scan int64
	ops       []uint64
}

// measure opens gate 2 and lets the load warm up; then the window, read slice
// by slice; then the cool-down, until every worker that saw the window open has
// seen it close. It runs on a thread of its own, above the workers where it may.
func (r *run) measure(ctx context.Context, long time.Duration) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and ends with its priority
		if len(r.opt.Spare) > 0 {
			affinity.Pin(r.opt.Spare)
		}
		r.window.above = raise()
		if r.opt.Ops > 0 {
			done <- r.countedWindow(ctx)
		} else {
			done <- r.timedWindow(ctx, long)
		}
	}()
	return <-done
}

func (r *run) timedWindow(ctx context.Context, long time.Duration) error {
	// Allocated before the gate: nothing of ours is to move while load runs.
	slices := max(int((r.opt.Window+r.opt.Slice/2)/r.opt.Slice), 1)
	w := &r.window
	w.edges = make([]edge, slices+1)
	for i := range w.edges {
		w.edges[i].ops = make([]uint64, r.workers())
	}
	w.starved = make([]int, r.workers())

	gate := time.Now()
	r.turn(pingpong.PhaseWarmup)
	if err := r.pause(ctx, r.opt.Warmup); err != nil {
		return err
	}
	for deadline := gate.Add(r.opt.Warmup + long); r.ctl.Reached(pingpong.Warmed) < r.workers(); {
		if time.Now().After(deadline) {
			return r.watchdog(pingpong.Warmed, r.opt.Warmup+long, "to do one operation: starved")
		}
		if err := r.pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}

	w.host = readHost()
	w.warmup = time.Since(gate)
	w.open = time.Now()
	own := threadCPU()
	r.turn(pingpong.PhaseWindow)
	r.scan(&w.edges[0])
	start := w.edges[0].mid
	for i := 1; i <= slices; i++ {
		sleepUntil(start + int64(r.opt.Window)*int64(i)/int64(slices))
		r.scan(&w.edges[i])
		if err := r.trouble(ctx); err != nil {
			return err
		}
	}
	r.turn(pingpong.PhaseCool)
	w.own = threadCPU() - own
	w.after = readHost()
	for i := 1; i <= slices; i++ {
		for j, n := range w.edges[i].ops {
			if n == w.edges[i-1].ops[j] {
				w.starved[j]++
			}
		}
	}

	// A worker that is blocked may never see the close; its figures are then
	// unavailable, but it does not hold up the others for long.
	opened := r.ctl.Reached(pingpong.Opened)
	for deadline := time.Now().Add(closePatience); time.Now().Before(deadline); {
		opened = max(opened, r.ctl.Reached(pingpong.Opened))
		if r.ctl.Reached(pingpong.Closed) >= opened {
			break
		}
		if err := r.pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// countedWindow lets every client do its number of operations. There is no
// warm-up: the window is the whole of the load.
func (r *run) countedWindow(ctx context.Context) error {
	r.window.host = readHost()
	r.window.open = time.Now()
	own := threadCPU()
	r.turn(pingpong.PhaseWarmup)
	for {
		seen := r.ctl.Rung()
		if r.ctl.Reached(pingpong.Finished) >= r.limited() {
			break
		}
		if err := r.trouble(ctx); err != nil {
			return err
		}
		r.ctl.Wait(seen, int64(100*time.Millisecond))
	}
	r.window.own = threadCPU() - own
	r.window.after = readHost()
	return nil
}

// scan reads all counters between two readings of the clock.
func (r *run) scan(e *edge) {
	t := pingpong.Nanotime()
	for i := range e.ops {
		e.ops[i] = atomic.LoadUint64(&r.memory.Slot(i).Ops)
	}
	end := pingpong.Nanotime()
	e.mid, e.scan = t+(end-t)/2, end-t
}

// pause sleeps while nothing goes wrong.
func (r *run) pause(ctx context.Context, d time.Duration) error {
	for end := pingpong.Nanotime() + int64(d); ; {
		if err := r.trouble(ctx); err != nil {
			return err
		}
		now := pingpong.Nanotime()
		if now >= end {
			return nil
		}
		sleepUntil(min(end, now+int64(100*time.Millisecond)))
	}
}

// threadCPU is the calling thread's CPU time in ns.
func threadCPU() int64 {
	var u unix.Rusage
	if unix.Getrusage(rusageThread, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

var _ = record.OK
