package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/janitor"
	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/sched"
)

// Options are what a run is told beside its cell.
type Options struct {
	Window     time.Duration // of measurement; ignored with Ops
	Warmup     time.Duration // at least this long before the window; none with Ops
	Slice      time.Duration // how often the counters are read
	Ops        uint64        // operations a client, instead of a time; 0: by time
	Seed       uint64
	Exe        string                // binary to start workers from
	CPUs       []int                 // of each worker, clients first; -1 free; nil: all free
	Spare      []int                 // CPUs that no worker is pinned to, where the coordinator may go
	Instrument *Instrument           // what looks at the run, which is an instrumented one then; nil: nothing does
	Distance   func(a, b int) string // names how far two CPUs are apart, for what moved between them; may be nil
	Accounting record.Accounting     // of CPU time, by this kernel
	Spin       *record.Spin          // how CPU work is calibrated; nil: once in this process
	Idle       *int64                // µs, what --idle-latency holds; nil: nothing
	Patience   time.Duration         // how long to wait for workers before the watchdog ends the run; 0: by their number
	Started    func(pids []int)      // told the worker processes when gate 2 opens; may be nil
	Turned     func(phase uint32)    // told each phase; may be nil
}

// calibrated measures once for all runs of this process: runs that are set
// against each other have to do the same work.
var calibrated = sync.OnceValue(pingpong.CalibrateSpin)

// ErrInterrupted is returned when the context ended before the run did.
var ErrInterrupted = errors.New("interrupted")

// Bounds of what a run waits for, beside the times that it was told. They are
// for workers that hang, not for slow ones: each grows with their number.
const (
	patience      = 20 * time.Second
	patienceEach  = 50 * time.Millisecond
	closePatience = 2 * time.Second

	janitorPatience = 5 * time.Second
)

// run is one run under way.
type run struct {
	cell     record.Cell
	opt      Options
	workload *pingpong.Workload
	clock    pingpong.Clock
	home     *janitor.Home
	fd       int // shared mapping
	memory   *pingpong.Memory
	ctl      *pingpong.Control
	clients  int
	servers  int
	procs    []*process
	family   family
	rec      *record.Run
	began    time.Time
	window   window
	watching []instrument
	knobs    *sched.Switched // of the kernel's scheduler, for the length of the run
	turns    []Turn          // of a paired run
}

func (r *run) workers() int { return r.clients + r.servers }

// Run executes the cell once. A run that failed is a record that says so; the
// error is ErrInterrupted, or why no run could be tried at all.
func Run(ctx context.Context, cell record.Cell, opt Options) (*record.Run, error) {
	r, err := prepare(cell, opt)
	if err != nil {
		return nil, err
	}
	return r.outcome(r.execute(ctx))
}

func prepare(cell record.Cell, opt Options) (*run, error) {
	w, err := pingpong.Lookup(cell.Workload)
	if err != nil {
		return nil, err
	}
	clock, err := pingpong.ParseClock(cell.Clock)
	if err != nil {
		return nil, err
	}
	r := &run{
		cell: cell, opt: opt, workload: w, clock: clock.Calibrate(),
		clients: cell.Parallel, servers: w.ServersOf(cell),
		rec: &record.Run{Schema: record.Schema, Kind: record.Timed, Cell: cell, Loop: loop(cell)},
	}
	if r.opt.CPUs != nil && len(r.opt.CPUs) != r.workers() {
		return nil, fmt.Errorf("placement of %d workers for a cell with %d", len(r.opt.CPUs), r.workers())
	}
	if clock, err := pingpong.WorkClock(cell); err == nil {
		cost := clock.CostNS()
		r.rec.WorkClockNS = &cost
	} else {
		r.rec.Missing("work_clock_cost_ns", err.Error())
	}
	if w.Spins {
		s := opt.Spin
		if s == nil {
			s = new(record.Spin)
			*s = calibrated()
		}
		r.rec.Spin = s
		if !pingpong.SpinAgrees(*s) {
			r.warn("the spin that stands for work was not calibrated well: the three fastest of %d tries lie %.1f %% apart; quiet the machine", s.Tries, 100*s.Spread)
		}
	} else {
		r.rec.Missing("spin", "its workers do no CPU work of their own")
	}
	if cost := r.clock.CostNS(); cost > 0 {
		r.rec.ClockCostNS = &cost
	} else {
		r.rec.Missing("clock_cost_ns", "no clock is called (--clock none)")
	}
	r.rec.IdleLatency = opt.Idle
	r.began = time.Now()
	r.rec.Start = r.began.UTC().Format(time.RFC3339Nano)
	return r, nil
}

// outcome turns what ended the run into its record.
func (r *run) outcome(err error) (*record.Run, error) {
	var failure *record.Error
	switch {
	case err == nil:
		r.rec.Status = record.OK
	case errors.As(err, &failure):
		r.rec.Status, r.rec.Error = record.Failed, failure
		r.forget()
	default:
		return nil, err
	}
	return r.rec, nil
}

// execute goes through the phases. Everything that it made is gone when it
// returns.
func (r *run) execute(ctx context.Context) (err error) {
	defer func() { err = r.close(err) }()
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.measure(ctx); err != nil {
		return err
	}
	if err := r.stopInstruments(); err != nil {
		return err
	}
	return r.end(ctx)
}

// patience is how long the run waits for its workers.
func (r *run) patience() time.Duration {
	if r.opt.Patience > 0 {
		return r.opt.Patience
	}
	return patience + time.Duration(r.workers())*patienceEach
}

// begin starts the workers and waits until all are ready for gate 2.
func (r *run) begin(ctx context.Context) (err error) {
	if r.home, err = janitor.Open(r.opt.Exe); err != nil {
		return failed("%v", err)
	}
	r.family.reap(r.home.Group)
	if r.knobs, err = sched.Switch(r.cell.Params, r.home.Knobs()); err != nil {
		return failed("%v", err)
	}
	if err := r.share(); err != nil {
		return failed("shared mapping: %v", err)
	}
	if err := r.spawn(ctx); err != nil {
		return err
	}
	if err := r.await(ctx, pingpong.Pinned, r.workers(), "to be pinned and listening"); err != nil {
		return err
	}
	r.turn(pingpong.PhaseConnect)
	if err := r.await(ctx, pingpong.Ready, r.workers(), "to be connected"); err != nil {
		return err
	}
	ready := int64(time.Since(r.began))
	r.rec.ReadyNS = &ready
	r.instruments()
	if r.opt.Started != nil {
		r.opt.Started(r.pids())
	}
	return nil
}

// stop ends the load: those who leave first leave.
func (r *run) stop(ctx context.Context) error {
	r.turn(pingpong.PhaseStop)
	return r.await(ctx, pingpong.Gone, r.clients, "to leave after stop")
}

// end lets those go who are left, waits until every process has ended, and fills the
// record from the workers' slots.
func (r *run) end(ctx context.Context) error {
	r.turn(pingpong.PhaseLeft)
	if err := r.await(ctx, pingpong.Done, r.workers(), "to end after the clients had left"); err != nil {
		return err
	}
	if err := r.family.wait(ctx, r.patience()); err != nil {
		return err
	}
	r.collect()
	if r.rec.Ops != nil && *r.rec.Ops == 0 {
		return failed("starved: no operation ended while the window was open; take a longer --window, or quiet the machine")
	}
	return nil
}

// turn sets the phase.
func (r *run) turn(phase uint32) {
	r.ctl.Turn(phase)
	if r.opt.Turned != nil {
		r.opt.Turned(phase)
	}
}

// share makes the mapping and says when each milestone is full.
func (r *run) share() (err error) {
	slots := r.workers() + r.processes()
	if r.fd, err = pingpong.NewMemoryFile(pingpong.MemoryBytes(slots)); err != nil {
		return err
	}
	if r.memory, err = pingpong.MapMemory(r.fd, slots); err != nil {
		unix.Close(r.fd)
		return err
	}
	r.ctl = r.memory.Control()
	for _, m := range []int{pingpong.Pinned, pingpong.Ready, pingpong.Done} {
		r.ctl.Want[m] = uint32(r.workers())
	}
	r.ctl.Want[pingpong.Gone] = uint32(r.clients)
	r.ctl.Want[pingpong.Finished] = uint32(r.limited())
	return nil
}

// limited is the number of workers that end by themselves under --ops: the
// clients, and the one receiver of those that get no reply.
func (r *run) limited() int {
	if r.workload.Counts() == record.Server {
		return r.clients + r.servers
	}
	return r.clients
}

// await waits until n workers have reached a milestone, or one failed, or the
// watchdog's time is over.
func (r *run) await(ctx context.Context, milestone, n int, what string) error {
	limit := r.patience()
	deadline := time.Now().Add(limit)
	for {
		seen := r.ctl.Rung()
		if r.ctl.Reached(milestone) >= n {
			return nil
		}
		if err := r.trouble(ctx); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return r.watchdog(milestone, limit, what)
		}
		r.ctl.Wait(seen, int64(20*time.Millisecond))
	}
}

// trouble reports what has ended the run, if anything has.
func (r *run) trouble(ctx context.Context) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if r.ctl.Reached(pingpong.AnyFailed) == 0 && !r.family.lost() {
		return nil
	}
	// A worker that dies takes its peers with it. Give the first cause time to
	// be seen, so that the record names it and not its echo.
	for range 10 {
		if e := r.family.deadBySignal(); e != nil {
			return r.blame(e)
		}
		sleepUntil(pingpong.Nanotime() + int64(10*time.Millisecond)) // no timer of the runtime: its threads stand below real-time workers
	}
	for i := range r.workers() {
		role, index := r.role(i)
		if e := r.memory.Slot(i).Failure(role, index); e != nil {
			e.What = fmt.Sprintf("%s %d: %s", role, index, e.What)
			return e
		}
	}
	if e := r.family.dead(); e != nil {
		return r.blame(e)
	}
	return failed("a worker failed and did not say why")
}

// blame names the worker whose process died.
func (r *run) blame(d *death) error {
	e := &record.Error{Worker: -1, What: fmt.Sprintf("worker process %d %s", d.pid, d.how)}
	for _, p := range r.procs {
		if p.pid != d.pid {
			continue
		}
		ws := p.spec.Workers[0]
		e.Role = ws.Role
		if len(p.spec.Workers) == 1 {
			e.Worker = ws.Index
			e.Op = r.memory.Slot(ws.Slot).Ops
			e.What = fmt.Sprintf("%s %d: process %d %s", ws.Role, ws.Index, d.pid, d.how)
		} else {
			e.What = fmt.Sprintf("process %d of %d workers (%s) %s", d.pid, len(p.spec.Workers), p.roles(), d.how)
		}
	}
	return e
}

// watchdog names a worker that has not reached the milestone. It is always a
// failure.
func (r *run) watchdog(milestone int, limit time.Duration, what string) error {
	for i := range r.workers() {
		if slot := r.memory.Slot(i); stopped(int(slot.PID)) {
			role, index := r.role(i)
			return &record.Error{Worker: index, Role: role, Op: slot.Ops,
				What: fmt.Sprintf("watchdog: waited %v for the workers %s: the process of %s %d (%d) is stopped by a signal", limit, what, role, index, slot.PID)}
		}
	}
	for i := range r.workers() {
		slot := r.memory.Slot(i)
		role, index := r.role(i)
		behind := slot.State < uint32(milestone)+1
		switch milestone {
		case pingpong.Warmed:
			behind = slot.Ops == 0
		case pingpong.Gone:
			behind = behind && role == record.Client
		}
		if !behind {
			continue
		}
		e := &record.Error{Worker: index, Role: role, Op: slot.Ops,
			What: fmt.Sprintf("watchdog: waited %v for %s %d (process %d) %s", limit, role, index, slot.PID, what)}
		// One that waits for its peer is the victim, not the cause.
		if r.workload.Counts() == record.Client && role == record.Client && r.workload.Wiring == pingpong.Pairs {
			if peer := r.memory.Slot(r.clients + i); peer.Ops <= slot.Ops && milestone >= pingpong.Warmed {
				e.Worker, e.Role, e.Op = index, record.Server, peer.Ops
				e.What += fmt.Sprintf("; it waits for server %d (process %d), which has answered %d of its requests", index, peer.PID, peer.Ops)
			}
		}
		return e
	}
	return failed("watchdog: waited %v for the workers %s", limit, what)
}

// role names the worker of slot i.
func (r *run) role(i int) (role string, index int) {
	if i < r.clients {
		return record.Client, i
	}
	return record.Server, i - r.clients
}

func failed(format string, args ...any) error {
	return &record.Error{Worker: -1, What: fmt.Sprintf(format, args...)}
}

// close ends what is left of the run, at once where cause says that it failed,
// and returns the cause, or what prevented the cleaning up.
func (r *run) close(cause error) error {
	if r.home == nil {
		return cause
	}
	if cause != nil && r.ctl != nil {
		r.collectFailed()
		r.turn(pingpong.PhaseAbort)
	}
	if cause != nil {
		r.family.kill(r.home)
		_ = r.stopInstruments()
	}
	for _, p := range r.procs {
		p.control.Close()
	}
	if r.knobs != nil {
		if err := r.knobs.Restore(); err != nil && cause == nil {
			cause = failed("%v", err)
		}
	}
	r.home.Release()
	if !r.family.waitAll(janitorPatience) {
		r.family.kill(r.home) // a janitor that is stopped does not go by itself
		r.family.waitAll(0)
	}
	if r.memory != nil {
		r.memory.Unmap()
		unix.Close(r.fd)
	}
	if err := r.home.Close(); err != nil && cause == nil {
		cause = failed("%v", err)
	}
	return cause
}

func loop(c record.Cell) string {
	if c.Params["rate"] != "" {
		return "open"
	}
	return "closed"
}

// NotRun is the record of a run that could not even be started.
func NotRun(cell record.Cell, why error) *record.Run {
	rec := &record.Run{Schema: record.Schema, Kind: record.Timed, Status: record.Failed, Cell: cell, Loop: loop(cell),
		Start: time.Now().UTC().Format(time.RFC3339Nano),
		Error: &record.Error{Worker: -1, What: why.Error()}}
	for _, name := range figures {
		rec.Missing(name, "the run failed")
	}
	return rec
}

// ProbePolicy reports why a thread here may not be told the cell's policy and
// nice values: the privilege or limit that is missing. It tries them on a
// thread of its own, which ends.
func ProbePolicy(c record.Cell) error {
	for _, nice := range []int{c.NiceClient, c.NiceServer} {
		if c.Policy == pingpong.InheritPolicy && nice == 0 {
			continue
		}
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with what it was told
			done <- pingpong.Tell(c.Policy, nice)
		}()
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}
