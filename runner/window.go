package runner

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/environ"
	"udsbench/pingpong"
)

// window is what the coordinator itself saw while the window was open.
type window struct {
	edges   []edge
	first   []uint64 // operations of each worker at the first edge
	last    []uint64 // and at the last
	starved []int    // slices without an operation, by worker
	warmup  time.Duration
	host    environ.HostCounters
	after   environ.HostCounters

	idle, idleAfter idleUse
	own             int64 // the coordinator's own CPU time in ns
	above           string
}

// edge is one reading of all counters: the midpoint of the two clock readings
// around it, their distance, and the sum of the operations that count.
type edge struct {
	mid, scan int64
	ops       uint64
}

// measure opens gate 2 and lets the load warm up; then the window, read slice
// by slice; then the cool-down, until every worker that saw the window open has
// seen it close. It runs on a thread of its own, above the workers where it may.
func (r *run) measure(ctx context.Context) error {
	return r.above(func() error {
		window := r.timedWindow
		if r.opt.Ops > 0 {
			window = r.countedWindow
		}
		if err := window(ctx); err != nil {
			return err
		}
		return r.stop(ctx)
	})
}

// above calls f off the workers' CPUs where one is spare, and above the workers
// where that may be.
func (r *run) above(f func() error) error {
	return onRaisedThread(func() error {
		if len(r.opt.Spare) > 0 {
			affinity.Pin(r.opt.Spare)
		}
		return f()
	}, &r.window.above)
}

// onRaisedThread calls f on a thread of its own that stands above the workers
// where it may; how goes to said.
func onRaisedThread(f func() error, said ...*string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		how := raise()
		for _, s := range said {
			*s = how
		}
		done <- f()
	}()
	return <-done
}

func (r *run) timedWindow(ctx context.Context) error {
	// Allocated before the gate: nothing of ours is to move while load runs.
	n := max(int((r.opt.Window+r.opt.Slice/2)/r.opt.Slice), 1)
	slice := int64(r.opt.Window) / int64(n)
	w := &r.window
	w.edges = make([]edge, 1, n+1)
	w.first, w.last = make([]uint64, r.workers()), make([]uint64, r.workers())
	w.starved = make([]int, r.workers())
	before := make([]uint64, r.workers())

	if err := r.warmUp(ctx); err != nil {
		return err
	}
	r.scan(w.first) // for nothing: the counters' pages are mapped here by it
	w.host, w.idle = environ.ReadHost(), readIdle(r.idleCPUs())
	own := threadCPU()
	if err := r.open(); err != nil {
		return err
	}
	r.turn(pingpong.PhaseWindow)
	w.edges[0] = r.scan(w.first)
	copy(before, w.first)
	start := w.edges[0].mid
	for at := start; at < start+int64(r.opt.Window); {
		at = nextEdge(at, w.edges[len(w.edges)-1].mid, start, slice, int64(r.opt.Window))
		if err := r.pauseUntil(ctx, at); err != nil {
			return err
		}
		w.edges = append(w.edges, r.scan(w.last))
		for i, n := range w.last {
			if n == before[i] {
				w.starved[i]++
			}
		}
		copy(before, w.last)
	}
	w.own = threadCPU() - own
	r.turn(pingpong.PhaseCool)
	if err := r.shut(); err != nil {
		return err
	}
	w.after, w.idleAfter = environ.ReadHost(), readIdle(r.idleCPUs())
	return r.awaitClosed(ctx)
}

// nextEdge is when the counters are read next: at the next whole slice from
// start that is at least half a slice away from now, and in any case at the
// window's end. A coordinator that came late thus reads longer slices, never
// slivers in which nobody can have done anything.
func nextEdge(at, now, start, slice, window int64) int64 {
	at += slice
	if late := now + slice/2 - at; late > 0 {
		at += (late + slice - 1) / slice * slice
	}
	if end := start + window; at > end-slice/2 {
		return end
	}
	return at
}

// awaitClosed waits until every worker that saw the window open has seen it
// close. A worker that is blocked may never see it; its figures are then
// unavailable, but it does not hold up the others for long.
func (r *run) awaitClosed(ctx context.Context) error {
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

// warmUp opens gate 2 and lets load run for its time, and until every worker
// has done one operation.
func (r *run) warmUp(ctx context.Context) error {
	gate := time.Now()
	r.turn(pingpong.PhaseWarmup)
	if err := r.pause(ctx, r.opt.Warmup); err != nil {
		return err
	}
	limit := r.opt.Warmup + r.patience()
	for deadline := gate.Add(limit); r.ctl.Reached(pingpong.Warmed) < r.workers(); {
		if time.Now().After(deadline) {
			return r.watchdog(pingpong.Warmed, limit, "to do one operation: starved")
		}
		if err := r.pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	r.window.warmup = time.Since(gate)
	return nil
}

// countedWindow lets every client do its number of operations. There is no
// warm-up: the window is the whole of the load.
func (r *run) countedWindow(ctx context.Context) error {
	r.window.host, r.window.idle = environ.ReadHost(), readIdle(r.idleCPUs())
	own := threadCPU()
	if err := r.open(); err != nil {
		return err
	}
	r.turn(pingpong.PhaseWarmup)
	ops, before := make([]uint64, r.workers()), make([]uint64, r.workers())
	moved := time.Now()
	for {
		seen := r.ctl.Rung()
		if r.ctl.Reached(pingpong.Finished) >= r.limited() {
			break
		}
		if err := r.trouble(ctx); err != nil {
			return err
		}
		if r.scan(ops); !slices.Equal(ops, before) {
			copy(before, ops)
			moved = time.Now()
		} else if time.Since(moved) > r.patience() {
			return r.watchdog(pingpong.Finished, r.patience(), "to do its operations, and nobody did any")
		}
		r.ctl.Wait(seen, int64(100*time.Millisecond))
	}
	r.window.own = threadCPU() - own
	if err := r.shut(); err != nil {
		return err
	}
	r.window.after, r.window.idleAfter = environ.ReadHost(), readIdle(r.idleCPUs())
	return nil
}

// scan reads all counters between two readings of the clock.
func (r *run) scan(ops []uint64) edge {
	t := pingpong.Nanotime()
	for i := range ops {
		ops[i] = atomic.LoadUint64(&r.memory.Slot(i).Ops)
	}
	end := pingpong.Nanotime()
	e := edge{mid: t + (end-t)/2, scan: end - t}
	for i, n := range ops {
		if role, _ := r.role(i); role == r.workload.Counts() {
			e.ops += n
		}
	}
	return e
}

// pause sleeps while nothing goes wrong.
func (r *run) pause(ctx context.Context, d time.Duration) error {
	return r.pauseUntil(ctx, pingpong.Nanotime()+int64(d))
}

// pauseUntil sleeps until the clock reads end, and looks around at least every
// 100 ms.
func (r *run) pauseUntil(ctx context.Context, end int64) error {
	for {
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
