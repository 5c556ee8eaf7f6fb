package runner

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/pingpong"
	"udsbench/record"
)

// tinyBuffer is the least that the kernel gives.
const tinyBuffer = "1"

// unprivileged calls f on a thread whose children lack what lets root exceed the
// limit of descriptors in flight (too_many_unix_fds, net/core/scm.c).
func unprivileged(t *testing.T, f func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with what it lacks
		for _, c := range []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EPERM {
				done <- err
				return
			}
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func fileLimit(n int) unix.Rlimit { return unix.Rlimit{Cur: uint64(n), Max: uint64(n)} }

// A run whose process is left without room for a descriptor while its window is
// open fails by the limit's name, at once, and the worker's record counts it.
func TestNoRoomForDescriptors(t *testing.T) {
	isolated(t)
	for _, x := range []struct {
		cell   record.Cell
		victim int // of the worker processes: clients', then servers'
	}{
		{record.Cell{Workload: "storm", Model: "thread", Parallel: 2}, 0},
		{record.Cell{Workload: "storm", Model: "thread", Parallel: 2}, 1},
		{record.Cell{Workload: "rights", Model: "thread", Parallel: 2}, 0},
		{record.Cell{Workload: "rights", Parallel: 2}, 1},
		{record.Cell{Workload: "churn", Parallel: 2}, 0},
		{record.Cell{Workload: "churn", Transport: "pipe", Parallel: 2}, 0},
		{record.Cell{Workload: "autobind", Parallel: 2}, 0},
		{record.Cell{Workload: "bindpath", Parallel: 2}, 0},
		{record.Cell{Workload: "fdshare", Parallel: 2}, 0},
	} {
		o := options(t)
		o.Window = 5 * time.Second
		var pids []int
		o.Started = func(p []int) { pids = p }
		o.Turned = func(phase uint32) {
			if phase == pingpong.PhaseWindow {
				none := fileLimit(1)
				if err := unix.Prlimit(pids[x.victim], unix.RLIMIT_NOFILE, &none, nil); err != nil {
					t.Error(err)
				}
			}
		}
		r, err := Run(context.Background(), cell(x.cell), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != record.Failed || r.Error.Errno != "EMFILE" {
			t.Errorf("%s, process %d: %s, %+v", x.cell.Workload, x.victim, r.Status, r.Error)
			continue
		}
		counted := uint64(0)
		for _, w := range r.Workers {
			counted += w.Errors["EMFILE"]
		}
		if counted == 0 {
			t.Errorf("%s, process %d: no worker's record counts EMFILE", x.cell.Workload, x.victim)
		}
		for _, pid := range pids {
			if !gone(pid) {
				t.Errorf("%s: process %d is left", x.cell.Workload, pid)
			}
		}
	}
}

// With as many descriptors in flight as may be, messages wait for each other and
// are counted; with one more for good, the run fails by the limit's name.
func TestDescriptorsInFlight(t *testing.T) {
	if n, _ := strconv.Atoi(os.Getenv(limited)); n > 0 {
		inFlight(t, n)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestDescriptorsInFlight$", "-test.v")
	c.Env = append(os.Environ(), limited+"=80")
	unprivileged(t, func() {
		if text, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func inFlight(t *testing.T, n int) {
	isolated(t)
	lim := fileLimit(n)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Window = 500 * time.Millisecond
	rights := func(inflight int) *record.Run {
		r, err := Run(context.Background(), cell(record.Cell{Workload: "rights", Parallel: 4, Params: map[string]string{"inflight": strconv.Itoa(inflight)}}), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var r *record.Run
	for range 10 { // what others of the same user have in flight counts too
		if r = rights(n); r.Status == record.OK && r.Errors["ETOOMANYREFS"] > 0 {
			break
		}
		time.Sleep(time.Second)
	}
	if r.Status != record.OK || r.Errors["ETOOMANYREFS"] == 0 {
		t.Errorf("%d in flight and %d at most: %s, %v, %v", n, n, r.Status, r.Error, r.Errors)
	}
	start := time.Now()
	r = rights(n + 1)
	if r.Status != record.Failed || r.Error.Errno != "ETOOMANYREFS" {
		t.Errorf("%d in flight for good and %d at most: %s, %v", n+1, n, r.Status, r.Error)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v to fail", took)
	}
}
