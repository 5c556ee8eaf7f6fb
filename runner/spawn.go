package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/janitor"
	"udsbench/pingpong"
	"udsbench/record"
)

// process is one worker process: what it is told, and what it inherits.
type process struct {
	spec    *pingpong.Spec
	pid     int
	control *os.File
	mask    []int // CPUs that it starts on; nil: wherever the coordinator may be
}

func (p *process) roles() string {
	first, last := p.spec.Workers[0].Role, p.spec.Workers[len(p.spec.Workers)-1].Role
	if first == last {
		return first + "s"
	}
	return first + "s and " + last + "s"
}

// processes is how many worker processes the cell has.
func (r *run) processes() int { return countProcesses(r.workload, r.cell) }

func countProcesses(w *pingpong.Workload, c record.Cell) int {
	if c.OneProcess {
		return 1
	}
	count := func(model string, workers int) int {
		if model == "process" {
			return workers
		}
		return min(workers, 1)
	}
	return count(c.Model, c.Parallel) + count(c.ServerModel, w.ServersOf(c))
}

// lay divides the workers into processes.
func (r *run) lay() {
	n := 0
	add := func(model string, workers ...pingpong.WorkerSpec) {
		if len(workers) == 0 {
			return
		}
		p := &process{spec: &pingpong.Spec{
			Cell: r.cell, Dir: r.home.Dir, Layout: pingpong.MemoryBytes(1), Slots: r.workers() + r.processes(), Process: r.workers() + n,
			Model: model, Clock: r.clock, Ops: r.opt.Ops, Seed: r.opt.Seed, Workers: workers,
			Script: r.workload.Script,
		}}
		if r.rec.Spin != nil {
			p.spec.SpinPerUS = r.rec.Spin.PerUS
		}
		for _, w := range workers {
			if w.CPU >= 0 && !slices.Contains(p.mask, w.CPU) {
				p.mask = append(p.mask, w.CPU)
			}
		}
		slices.Sort(p.mask)
		r.procs = append(r.procs, p)
		n++
	}
	clients := make([]pingpong.WorkerSpec, r.clients)
	servers := make([]pingpong.WorkerSpec, r.servers)
	for i := range clients {
		peer := -1
		if r.servers > 0 {
			peer = r.clients
			if r.workload.Wiring == pingpong.Pairs && !r.workload.OneListener {
				peer += i
			}
		}
		clients[i] = pingpong.WorkerSpec{Slot: i, Role: record.Client, Index: i, Peer: peer, CPU: r.cpu(i)}
	}
	for i := range servers {
		servers[i] = pingpong.WorkerSpec{Slot: r.clients + i, Role: record.Server, Index: i, Peer: -1, CPU: r.cpu(r.clients + i)}
	}
	if r.cell.OneProcess {
		add(r.cell.Model, append(clients, servers...)...)
		return
	}
	group := func(model string, workers []pingpong.WorkerSpec) {
		if model != "process" {
			add(model, workers...)
			return
		}
		for _, w := range workers {
			add(model, w)
		}
	}
	group(r.cell.Model, clients)
	group(r.cell.ServerModel, servers)
}

func (r *run) cpu(worker int) int {
	if r.opt.CPUs == nil {
		return -1
	}
	return r.opt.CPUs[worker]
}

// spawn starts all worker processes. Where each connection belongs to two
// processes alone, its ends are made, handed on and closed one after the
// other, so that the coordinator holds few.
func (r *run) spawn(ctx context.Context) error {
	r.lay()
	if !r.workload.Inherits(r.cell) {
		return r.startAll(ctx, r.procs, nil)
	}
	if r.workload.Wiring == pingpong.Pairs && len(r.procs) == r.workers() {
		for i := range r.clients {
			if err := r.startLinked(ctx, []*process{r.procs[i], r.procs[r.clients+i]}, i, 1); err != nil {
				return err
			}
		}
		return nil
	}
	links := r.clients
	if r.workload.Wiring == pingpong.Shared {
		links = 1
	}
	return r.startLinked(ctx, r.procs, 0, links)
}

// startLinked opens the connections first…first+n-1 and starts the processes
// that inherit them.
func (r *run) startLinked(ctx context.Context, procs []*process, first, n int) error {
	var client, server []pingpong.End
	defer func() {
		for i := range client {
			client[i].Close()
			server[i].Close()
		}
	}()
	for range n {
		a, b, err := pingpong.OpenLink(r.cell, r.home.Dir)
		if err != nil {
			return failed("connection: %v", err)
		}
		client, server = append(client, a), append(server, b)
	}
	return r.startAll(ctx, procs, func(ws *pingpong.WorkerSpec) pingpong.End {
		ends := client
		if ws.Role == record.Server {
			ends = server
		}
		if r.servers == 0 {
			return pingpong.End{R: server[0].R, W: client[0].W} // both ends in every hand
		}
		if n == 1 {
			return ends[0]
		}
		return ends[ws.Index-first]
	})
}

// startAll starts processes side by side, each on the CPUs where its workers
// will be, so that its memory is made there.
func (r *run) startAll(ctx context.Context, procs []*process, end func(*pingpong.WorkerSpec) pingpong.End) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var first error
	next := 0
	for range min(runtime.GOMAXPROCS(0), len(procs)) {
		all.Go(func() {
			// Never unlocked: the thread ends with its goroutine, and whatever
			// mask it has with it.
			runtime.LockOSThread()
			own, _ := affinity.Mask()
			for {
				mu.Lock()
				i := next
				next++
				if first == nil && ctx.Err() != nil {
					first = ErrInterrupted
				}
				stop := first != nil || i >= len(procs)
				mu.Unlock()
				if stop {
					return
				}
				if err := r.start(procs[i], own, end); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}

// start forks one worker process and sends it its specification.
func (r *run) start(p *process, own []int, end func(*pingpong.WorkerSpec) pingpong.End) error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return failed("control pipe: %v", err)
	}
	defer unix.Close(fds[0])
	p.control = os.NewFile(uintptr(fds[1]), "control")

	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("%s: %v", os.DevNull, err)
	}
	defer unix.Close(null)
	files := []uintptr{uintptr(null), 2, 2, uintptr(fds[0]), uintptr(r.fd)}
	if end != nil {
		for i := range p.spec.Workers {
			ws := &p.spec.Workers[i]
			e := end(ws)
			ws.End = &pingpong.End{R: len(files), W: len(files)}
			files = append(files, uintptr(e.R))
			if e.W != e.R {
				ws.End.W = len(files)
				files = append(files, uintptr(e.W))
			}
		}
	}
	mask := p.mask
	if len(mask) == 0 {
		mask = own
	}
	if err := affinity.Pin(mask); err != nil {
		return failed("%v", err)
	}
	pid, err := syscall.ForkExec(r.opt.Exe, []string{"udsbench", pingpong.WorkerArg, r.home.Dir}, &syscall.ProcAttr{
		// Set outright, so that the runtime does not go on asking the cgroup.
		Env:   append(janitor.Environ(), fmt.Sprintf("GOMAXPROCS=%d", gomaxprocs(p, mask))),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pgid: r.home.Group},
	})
	if err != nil {
		return failed("worker process: %v", err)
	}
	p.pid = pid
	r.family.add(pid)
	if err := pingpong.WriteSpec(p.control, p.spec); err != nil {
		return failed("worker process %d: specification: %v", pid, err)
	}
	return nil
}

// gomaxprocs is what the Go scheduler of a process may use: it has work in the
// timed path for goroutines only.
func gomaxprocs(p *process, mask []int) int {
	if len(p.spec.Workers) == 1 && p.spec.Model != "goroutine" {
		return 1
	}
	return max(len(mask), 1)
}

func (r *run) pids() []int {
	pids := make([]int, len(r.procs))
	for i, p := range r.procs {
		pids[i] = p.pid
	}
	return pids
}
