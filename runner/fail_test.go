package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"udsbench/pingpong"
	"udsbench/record"
)

// leftovers lists private directories that are there now.
func leftovers(t *testing.T) []string {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "udsbench.*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// isolated gives the test a directory for temporary files of its own, short
// enough for socket names, and checks that nothing is left in it.
func isolated(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ub")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left := leftovers(t); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
}

// gone reports whether a process has ended; the processes asked about are
// children that were waited for, or strangers.
func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// A worker that is killed in any phase makes the run failed, and the record
// names the worker that died, not one that noticed.
func TestKilledWorkerFailsTheRun(t *testing.T) {
	isolated(t)
	for _, phase := range []uint32{pingpong.PhaseConnect, pingpong.PhaseWarmup, pingpong.PhaseWindow, pingpong.PhaseCool} {
		for _, victim := range []int{0, 3} { // a client, a server
			o := options(t)
			var pids []int
			o.Started = func(p []int) { pids = p }
			var r *run
			o.Turned = func(p uint32) {
				if p == phase {
					if pids == nil {
						pids = r.pids()
					}
					syscall.Kill(pids[victim], syscall.SIGKILL)
					if p == pingpong.PhaseCool {
						time.Sleep(50 * time.Millisecond) // before the orderly end overtakes it
					}
				}
			}
			c := cell(record.Cell{Workload: "pingpong", Parallel: 2})
			var err error
			if r, err = prepare(c, o); err != nil {
				t.Fatal(err)
			}
			rec, err := r.outcome(r.execute(context.Background()))
			if err != nil {
				t.Fatal(err)
			}
			role, index := r.role(victim)
			if rec.Status != record.Failed || rec.Error.Role != role || rec.Error.Worker != index || !strings.Contains(rec.Error.What, "SIGKILL") {
				t.Errorf("phase %d, %s %d killed: status %s, %v", phase, role, index, rec.Status, rec.Error)
			}
			if rec.Ops != nil || rec.OpsPerS != nil || rec.Slices != nil || rec.LatencyNS != nil || rec.Unavailable["ops_per_s"] == "" {
				t.Errorf("phase %d: a failed run has figures: %+v", phase, rec)
			}
			for _, pid := range pids {
				if !gone(pid) {
					t.Errorf("phase %d: process %d is left", phase, pid)
				}
			}
		}
	}
}

// A worker that is stopped for part of the window shows as starved slices; the
// others do not.
func TestStoppedWorkerIsStarved(t *testing.T) {
	isolated(t)
	o := options(t)
	o.Window, o.Slice = 800*time.Millisecond, 100*time.Millisecond
	var pids []int
	o.Started = func(p []int) { pids = p }
	o.Turned = func(p uint32) {
		if p == pingpong.PhaseWindow {
			time.AfterFunc(150*time.Millisecond, func() { syscall.Kill(pids[1], syscall.SIGSTOP) })
			time.AfterFunc(550*time.Millisecond, func() { syscall.Kill(pids[1], syscall.SIGCONT) })
		}
	}
	r := measure(t, cell(record.Cell{Workload: "pingpong", Parallel: 3}), o)
	for _, w := range r.Workers { // a busy machine starves others too, for a slice or so
		if w.Index == 1 && (w.StarvedSlices < 2 || w.StarvedSlices > 5) {
			t.Errorf("%s 1 was stopped for 400 of 800 ms and has %d starved slices of 100 ms", w.Role, w.StarvedSlices)
		}
		if w.Index != 1 && w.StarvedSlices > 3 {
			t.Errorf("%s %d has %d starved slices", w.Role, w.Index, w.StarvedSlices)
		}
	}
	marked := false
	for _, s := range r.Shares.Starved {
		marked = marked || s.Role == record.Client && s.Index == 1
	}
	if !marked || r.Shares.Hungry != len(r.Shares.Starved) {
		t.Errorf("client 1 was stopped, and the shares are %+v", *r.Shares)
	}
}

// A server that hangs is found by the watchdog, which names it.
func TestHungServerMeetsTheWatchdog(t *testing.T) {
	isolated(t)
	o := options(t)
	o.Patience = 2 * time.Second
	var pids []int
	o.Started = func(p []int) { pids = p }
	o.Turned = func(p uint32) {
		if p == pingpong.PhaseWindow {
			syscall.Kill(pids[1], syscall.SIGSTOP)
		}
	}
	rec, err := Run(context.Background(), cell(record.Cell{Workload: "pingpong"}), o)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Status != record.Failed || !strings.Contains(rec.Error.What, "watchdog") {
		t.Errorf("status %s, %v", rec.Status, rec.Error)
	}
}

// An interruption in any phase ends the run soon, without a record.
func TestInterruptedInEveryPhase(t *testing.T) {
	isolated(t)
	for phase := pingpong.PhaseConnect; phase <= pingpong.PhaseLeft; phase++ {
		ctx, cancel := context.WithCancel(context.Background())
		o := options(t)
		o.Window = 5 * time.Second
		var at atomic.Uint32
		o.Turned = func(p uint32) {
			at.Store(p)
			if p == phase {
				cancel()
			}
		}
		if phase > pingpong.PhaseWindow {
			o.Window = 100 * time.Millisecond
		}
		start := time.Now()
		rec, err := Run(ctx, cell(record.Cell{Workload: "fanin", Parallel: 4}), o)
		cancel()
		// The last steps may be over before they look.
		if err != ErrInterrupted && (rec == nil || rec.Status != record.OK || phase < pingpong.PhaseStop) {
			t.Errorf("phase %d: %v, %+v", phase, err, rec)
		}
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("phase %d: took %v to stop", phase, d)
		}
	}
}

// A binary that is no worker fails the run, it does not hang it.
func TestWorkerThatCannotStart(t *testing.T) {
	isolated(t)
	for _, exe := range []string{"/nonexistent", "/bin/false"} {
		o := options(t)
		o.Exe = exe
		rec, err := Run(context.Background(), cell(record.Cell{Workload: "pingpong"}), o)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Status != record.Failed {
			t.Errorf("%s: status %s", exe, rec.Status)
		}
	}
}

func TestPinningOutsideTheMachineFails(t *testing.T) {
	isolated(t)
	o := options(t)
	o.CPUs = []int{0, 4000}
	rec, err := Run(context.Background(), cell(record.Cell{Workload: "pingpong"}), o)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Status != record.Failed || !strings.Contains(rec.Error.What, "CPU 4000") {
		t.Errorf("status %s, %v", rec.Status, rec.Error)
	}
}
