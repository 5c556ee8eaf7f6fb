package lockwait

import (
	"fmt"

	"udsbench/bpf"
	"udsbench/kallsyms"
	"udsbench/record"
)

// ebpf watches lock:contention_begin and _end, and futex(2), and sums in the
// kernel.
type ebpf struct {
	opt    bpf.Options
	blind  []string
	trace  *bpf.Trace
	inst   record.Instrument
	opened bool
}

// whoIs gives Lock.Where, before a stack tells more.
var whoIs = map[uint32]string{bpf.Worker: record.InWorkers, bpf.KernelThread: record.InKthread, bpf.Runtime: record.InRuntime}

func newEBPF(o Options) *ebpf {
	return &ebpf{opt: bpf.Options{Locks: true, Futexes: true, LockStacks: !o.NoStacks, Depth: o.Depth}}
}

func (e *ebpf) Name() string { return "ebpf" }

func (e *ebpf) Probe() error { return bpf.Available(e.opt) }

func (e *ebpf) Start(t Target) (err error) {
	e.inst = record.Instrument{Name: "locks", Source: e.Name(), CPUs: onlineCount(), Diagnose: debugged(), Spinlocks: string(FindSpinlocks())}
	if e.opt.LockStacks {
		if err := kallsyms.Readable(); err != nil {
			e.opt.LockStacks = false
			e.inst.Notes = append(e.inst.Notes, "no stacks: "+err.Error())
		}
	}
	e.inst.NoStacks = !e.opt.LockStacks
	e.opt.PIDs, e.opt.Threads = t.PIDs, t.Threads
	e.trace, err = bpf.Start(e.opt)
	return err
}

func (e *ebpf) Open() error {
	e.opened = true
	return e.trace.Open()
}

func (e *ebpf) Close() error { return e.trace.Close() }

func (e *ebpf) Stop() ([]Row, error) {
	defer e.trace.Unload()
	if !e.opened {
		return nil, fmt.Errorf("lock source %s: the window was never opened", e.Name())
	}
	if err := e.trace.Close(); err != nil {
		return nil, err
	}
	// The price is that of the window: read before detaching takes its time.
	cost, _, known := e.trace.Cost()
	e.trace.Detach()
	waits, err := e.trace.Waits()
	if err != nil {
		return nil, err
	}
	counters, err := e.trace.Counters()
	if err != nil {
		return nil, err
	}
	// Now, while the programs are still loaded: their own frames have names, by
	// which the instrument's own waits are known.
	var names *kallsyms.Table
	if e.opt.LockStacks {
		if names, err = kallsyms.Load(); err != nil {
			return nil, err
		}
	}
	samples := make([]sample, len(waits))
	for i, w := range waits {
		s := &samples[i]
		s.flags, s.who, s.stackLost, s.addrs = w.Flags, whoIs[w.Who], w.StackLost, w.Addresses
		s.count, s.total, s.min, s.max, s.hist = int64(w.Count), int64(w.Total), int64(w.Min), int64(w.Max), w.Hist
		if w.Frames != nil {
			s.frames = kallsyms.Frames(names, w.Frames)
		} else if w.Who != bpf.KernelThread {
			s.call = bpf.SystemCall(w.Call)
		}
	}
	rows, own := rowsOf(e.Name(), samples, counters.LostAddresses > 0)

	window, events, lost := e.trace.WindowNS(), int64(counters.Begins), int64(counters.Lost())
	e.inst.WindowNS, e.inst.Events, e.inst.Lost, e.inst.Blind = &window, &events, &lost, e.Blind()
	unfinished, futexes := int64(counters.Unfinished), int64(counters.UnfinishedFutexes)
	e.inst.Unfinished, e.inst.UnfinishedFutexes = &unfinished, &futexes
	if known {
		ns, calls := int64(cost.NS), int64(cost.Calls)
		e.inst.SelfNS, e.inst.Calls = &ns, &calls
	}
	note := func(n uint64, what string) {
		if n > 0 {
			e.inst.Notes = append(e.inst.Notes, fmt.Sprintf("%d %s", n, what))
		}
	}
	note(uint64(own), "waits were the instrument's own and are left out")
	note(counters.LostStacks, "stacks had no room in the kernel's table: their waits stand under "+siteLost)
	note(counters.LostAddresses, "lock addresses had no room: numbers of addresses are lower bounds")
	note(counters.LostSites, "waits had no room for their site and are missing")
	note(counters.LostBegins, "waits had no room to be remembered and are missing")
	note(counters.Misses, "events came while a program already ran on their CPU and are missing")
	note(counters.OrphanEnds, "waits had begun before the instrument, or lost their begin, and are missing")
	note(counters.GivenUp, "waits ended without the lock")
	return rows, nil
}

func (e *ebpf) Blind() []string {
	var out []string
	if s := FindSpinlocks().blind(); s != "" {
		out = append(out, s)
	}
	out = append(out, blindStacks(e.opt.LockStacks, e.opt.Depth, "sites are system calls")...)
	return append(out,
		"a semaphore (rwsem) that spinning got: its wait is traced only once it sleeps",
		"locks that nobody waited for, and how long locks are held",
		"softirqs and interrupts on the time of other processes; kernel threads' waits are those of the whole machine",
		bouncing)
}

func (e *ebpf) Instrument() record.Instrument { return e.inst }
