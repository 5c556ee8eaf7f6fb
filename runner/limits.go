package runner

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/pingpong"
	"udsbench/record"
)

const (
	coordinatorFDs = 24 // standard streams, poller, session files, mapping, janitor, a spawn under way on each thread
	workerFDs      = 10 // standard streams, control pipe, mapping, poller
)

// NeedFDs computes the open files that the cell's hungriest process needs, and
// which process that is.
func NeedFDs(c record.Cell) (need int, who string) {
	w, err := pingpong.Lookup(c.Workload)
	if err != nil {
		return 0, ""
	}
	servers := w.ServersOf(c)
	each := 1 // descriptors of one end
	if c.Transport == "pipe" {
		each = 2
	}
	own := each + 1 // and the worker's schedstat
	if w.Wiring == pingpong.Self {
		own = 2*each + 1
	}
	processes := countProcesses(w, c)

	need, who = coordinatorFDs+processes, "coordinator"
	if w.Inherits(c) && w.Wiring == pingpong.Pairs && processes != c.Parallel+servers {
		need += 2 * each * c.Parallel
	}
	extra := func(role string) int {
		if w.FDs == nil {
			return 0
		}
		return w.FDs(c, role)
	}
	worker := func(role, model string, workers, more, each int) {
		if model == "process" {
			workers = min(workers, 1)
		}
		if n := workerFDs + workers*(own+each) + more; workers > 0 && n > need {
			need, who = n, role+" process"
		}
	}
	listeners := 0
	if !w.Inherits(c) {
		listeners = 1
		if w.Wiring == pingpong.Pairs && !w.OneListener && c.ServerModel != "process" {
			listeners = servers
		}
	}
	if c.OneProcess {
		worker("worker", c.Model, c.Parallel+servers, listeners, max(extra(record.Client), extra(record.Server)))
	} else {
		worker("client", c.Model, c.Parallel, 0, extra(record.Client))
		worker("server", c.ServerModel, servers, listeners, extra(record.Server))
	}
	return need, who
}

// maxSlices is how many slices a record may have.
const maxSlices = 100_000

// CheckSlices refuses a window of more slices than a record may have.
func CheckSlices(window, slice time.Duration) error {
	if window/slice > maxSlices {
		return fmt.Errorf("a window of %v has %d of them, at most %d: make it longer", window, window/slice, maxSlices)
	}
	return nil
}

// goThreads is how many threads a worker process has beside its workers: the
// Go runtime's own, and those that wait on its behalf.
const goThreads = 7

// CheckLimits refuses a cell that this process's limits cannot hold, before
// anything is started: one line that names the limit and the value needed.
func CheckLimits(c record.Cell) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return nil
	}
	// The Go runtime has raised the soft limit to the hard one, in each process.
	if need, who := NeedFDs(c); uint64(need) > uint64(lim.Max) {
		return fmt.Errorf("%s over %s with --parallel %d needs %d open files in its %s, and the limit is %d; raise it (ulimit -n %d) or lower --parallel",
			c.Workload, c.Transport, c.Parallel, need, who, lim.Max, need)
	}
	return nil
}
