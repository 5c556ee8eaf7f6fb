package runner

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/pingpong"
	"udsbench/record"
)

const (
	coordinatorFDs = 40 // standard streams, poller, session files, mapping, janitor, a spawn under way on each thread
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
	if w.Inherits(c) {
		links := 1 // made and handed on one after the other
		if w.Wiring == pingpong.Pairs && processes != c.Parallel+servers {
			links = c.Parallel
		}
		need += 2 * each * links
	}
	extra := func(role string) int {
		if w.FDs == nil {
			return 0
		}
		return w.FDs(c, role)
	}
	worker := func(role, model string, workers, more, more1 int) { // more in all, more1 a worker
		if model == "process" {
			workers = min(workers, 1)
		}
		n := workerFDs + workers*(own+more1) + more
		if w.Inherits(c) {
			// Between fork and exec each inherited descriptor stands twice: where
			// the coordinator had it, and where the worker is to find it.
			n = max(n, coordinatorFDs+2*(pingpong.FirstFD+workers*each))
		}
		if workers > 0 && n > need {
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

// fewOps is how many operations a window must have room for, and one a client.
const fewOps = 5

// CheckRate refuses a window that is too short for more than a few operations of
// an open loop.
func CheckRate(c record.Cell, window time.Duration) error {
	interval := pingpong.Interval(c) // of one client
	if interval == 0 {
		return nil
	}
	need := time.Duration(interval) * time.Duration(max(fewOps, c.Parallel)) / time.Duration(c.Parallel)
	if window >= need {
		return nil
	}
	return fmt.Errorf("a window of %v has room for %.1f operations, and with --parallel %d it takes at least %d: take --window %v, or a higher rate",
		window, float64(window)*float64(c.Parallel)/float64(interval), c.Parallel, max(fewOps, c.Parallel), need)
}

// goThreads is how many threads a worker process has beside its workers: the
// Go runtime's own, and those that wait on its behalf.
const goThreads = 7

// tasks is how many processes, or where threads count against the limit
// threads, the cell's workers are.
func tasks(c record.Cell) int {
	w, err := pingpong.Lookup(c.Workload)
	if err != nil {
		return 0
	}
	processes := countProcesses(w, c)
	if !threadsCount {
		return processes + 1
	}
	return (processes+1)*goThreads + c.Parallel + w.ServersOf(c)
}

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
	// The limit of processes is not for the superuser (setrlimit(2)).
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &lim); err == nil && os.Geteuid() != 0 && uint64(tasks(c)) > uint64(lim.Max) {
		return fmt.Errorf("%s with --parallel %d, model %s and %s, needs about %d processes and threads, and the limit is %d; raise it (ulimit -u %d) or lower --parallel",
			c.Workload, c.Parallel, c.Model, c.ServerModel, tasks(c), lim.Max, tasks(c))
	}
	return checkKernel(c)
}

// checkThreads refuses a cell of which one process needs more threads than the
// variable called name allows: a thread more ends a Go program.
func checkThreads(c record.Cell, limit int64, name string) error {
	w, err := pingpong.Lookup(c.Workload)
	if err != nil {
		return nil
	}
	clients, servers := 0, 0
	if c.Model == "thread" {
		clients = c.Parallel
	}
	if c.ServerModel == "thread" {
		servers = w.ServersOf(c)
	}
	need := max(clients, servers)
	if c.OneProcess {
		need = clients + servers
	}
	if need += goThreads; int64(need) <= limit {
		return nil
	}
	return fmt.Errorf("%s with --parallel %d, model %s and %s, needs about %d threads in one process, and %s is %d; raise it (sysctl %s=%d) or lower --parallel",
		c.Workload, c.Parallel, c.Model, c.ServerModel, need, name, limit, name, need)
}

// checkQueue refuses a cell over TCP whose clients can be more than the queue of
// their listener holds, on a kernel that resets who finds it full: three halves
// of the backlog and one, where the variable called name bounds the backlog.
func checkQueue(c record.Cell, limit int64, name string) error {
	w, err := pingpong.Lookup(c.Workload)
	if err != nil || c.Transport != "tcp" || !w.OneListener {
		return nil
	}
	backlog := int64(pingpong.Backlog(c))
	holds := func(n int64) int64 { return 3*n/2 + 1 }
	clients := int64(c.Parallel)
	switch {
	case clients <= holds(min(backlog, limit)):
		return nil
	case clients > holds(backlog):
		return fmt.Errorf("%s over tcp with --parallel %d and --param backlog=%d: the listener's queue holds %d clients, and resets the others; give a larger backlog or lower --parallel",
			c.Workload, c.Parallel, backlog, holds(backlog))
	}
	return fmt.Errorf("%s over tcp with --parallel %d: the listener's queue holds %d clients where %s is %d, and resets the others; raise it (sysctl %s=%d) or lower --parallel",
		c.Workload, c.Parallel, holds(limit), name, limit, name, clients)
}
