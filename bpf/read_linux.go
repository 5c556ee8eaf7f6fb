package bpf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
)

// Flags of a lock wait: the kernel's LCB_F_*, include/trace/events/lock.h, and
// one of ours.
const (
	FlagSpin   = 1
	FlagRead   = 2
	FlagWrite  = 4
	FlagRT     = 8
	FlagPerCPU = 16
	FlagMutex  = 32
	FlagFutex  = 0x10000
)

// Who waited.
const (
	Worker       = 1 // a worker, a thread of the target processes
	KernelThread = 2 // any kernel thread, whomever it worked for
	Runtime      = 3 // another thread of the target processes: the Go runtime's
)

// Sums of one kind of wait, in nanoseconds. Bucket i of Hist counts waits whose
// nanoseconds have i significant bits; the last takes all longer ones as well.
type Sums struct {
	Count, Total, Min, Max uint64
	Hist                   [32]uint64
}

// Add merges o into s.
func (s *Sums) Add(o Sums) {
	if o.Count == 0 {
		return
	}
	if s.Count == 0 || o.Min < s.Min {
		s.Min = o.Min
	}
	s.Max = max(s.Max, o.Max)
	s.Count += o.Count
	s.Total += o.Total
	for i, n := range o.Hist {
		s.Hist[i] += n
	}
}

func (s *Sums) merge(o *traceSums) {
	r := Sums{Count: o.Count, Total: o.Total, Min: o.Min, Max: o.Max}
	for i, n := range o.Hist {
		r.Hist[i] = uint64(n)
	}
	s.Add(r)
}

// Wait sums the waits of one stack, or of one system call, and one kind.
type Wait struct {
	Flags     uint32
	Who       uint32
	Frames    []uint64 // kernel addresses, innermost first; nil where there is no stack
	StackLost bool     // its slot in the kernel's table was another's
	Call      int32    // the system call, -1 where a stack was taken instead
	Addresses []uint64 // distinct locks (futexes: words, apart by process)
	Sums
}

// Sleep sums the sleeps of one stack or system call.
type Sleep struct {
	Frames    []uint64
	StackLost bool
	Call      int32 // negative or unknown: no system call, as a page fault
	Deep      bool  // uninterruptible
	Sums
}

// Thread is where one thread's window went, in nanoseconds.
type Thread struct {
	TID, PID              int
	On, Runnable, Blocked uint64
	Life                  uint64 // the part of the window in which it was there
	RunnableMax           uint64
	Voluntary             uint64 // switches
	Involuntary           uint64
	Wakes                 uint64
	Migrations            uint64
	Seen                  bool // at least one event told its state

	BeingWoken uint64 // of Blocked: from its waker's start until it was queued
	IdleExit   uint64 // of BeingWoken and Runnable: where the CPU that it then got had been idle

	// On and Runnable by the run queue's clock, which the kernel's own accounts
	// go by; ClockKnown is false where it is out of reach (a kernel without
	// CONFIG_FAIR_GROUP_SCHED).
	ClockOn, ClockRunnable uint64
	Uncharged              uint64 // of ClockOn: what the kernel did not charge for, as the hypervisor's part
	ClockMoved             uint64 // of ClockRunnable: asleep, and moved between run queues meanwhile
	ClockKnown             bool
}

// Pair counts from one CPU to another.
type Pair struct {
	From, To int
	N        uint64
}

// Latencies are wake-up latencies, from the waker's start until the woken
// thread runs, in nanoseconds. Hist has 1<<SubBits buckets to a power of two.
type Latencies struct {
	Count, Total, Min, Max uint64
	SubBits                int
	Hist                   []uint64
}

// Counters tell of the trace itself, over the window.
type Counters struct {
	Begins        uint64 // contention_begin events in the target processes
	BeginsKthread uint64 // and in kernel threads
	OrphanEnds    uint64 // ends of waits that began before the trace
	GivenUp       uint64 // waits that ended without the lock
	// Waits that began before the close and had not ended by then, or never
	// will, as their thread died in them; not among the sums.
	Unfinished        uint64
	UnfinishedFutexes uint64 // of workers
	LostBegins        uint64 // for want of room
	LostSites         uint64
	LostAddresses     uint64
	LostStacks        uint64
	LostThreads       uint64
	Misses            uint64 // calls that the kernel left out as they would have nested
}

// Lost is how many events did not reach the sums.
func (c Counters) Lost() uint64 { return c.LostBegins + c.LostSites + c.LostThreads + c.Misses }

// Cost is what the programs took by the kernel's own account.
type Cost struct {
	NS    uint64
	Calls uint64
}

// Cost is what the programs took inside the window by the kernel's account; ok
// is false where the kernel keeps none. Before Close it is up to now.
func (t *Trace) Cost() (c Cost, misses uint64, ok bool) {
	end := t.after
	if t.closed == 0 {
		end = t.account()
	}
	return Cost{NS: end.NS - t.before.NS, Calls: end.Calls - t.before.Calls}, end.misses - t.before.misses, end.ok
}

// account is the kernel's account of the programs since they were loaded.
type account struct {
	Cost
	misses uint64
	ok     bool
}

func (t *Trace) account() (a account) {
	for _, p := range t.coll.Programs {
		s, err := p.Stats()
		if err != nil {
			return account{}
		}
		a.NS += uint64(s.Runtime)
		a.Calls += s.RunCount
		a.misses += s.RecursionMisses
	}
	a.ok = t.stats != nil
	return a
}

// Counters reads the counters of the trace.
func (t *Trace) Counters() (Counters, error) {
	var per []traceCounters
	if err := t.coll.Maps["counts"].Lookup(uint32(0), &per); err != nil {
		return Counters{}, fmt.Errorf("eBPF counters: %w", err)
	}
	var c Counters
	for _, p := range per {
		c.Begins += p.Begins
		c.BeginsKthread += p.BeginsKthread
		c.OrphanEnds += p.OrphanEnds
		c.GivenUp += p.GivenUp
		c.LostBegins += p.LostBegins
		c.LostSites += p.LostSums
		c.LostAddresses += p.LostAddrs
		c.LostStacks += p.LostStacks
		c.LostThreads += p.LostThreads
		c.Unfinished += p.Unfinished
		c.UnfinishedFutexes += p.UnfinishedFutexes
	}
	_, c.Misses, _ = t.Cost()
	// Those that ended since the close are counted already; these go on.
	if err := t.waiting("sleepers", func(w *traceWait) { c.Unfinished++ }); err != nil {
		return Counters{}, err
	}
	err := t.waiting("futexes", func(w *traceWait) {
		if w.Who == Worker {
			c.UnfinishedFutexes++
		}
	})
	return c, err
}

// waiting hands to f those of a map's waits that began before the close and
// have not ended. Call it once the programs are detached: what ends meanwhile
// could be counted twice or not at all.
func (t *Trace) waiting(name string, f func(*traceWait)) error {
	var tid uint32
	var w traceWait
	it := t.coll.Maps[name].Iterate()
	for it.Next(&tid, &w) {
		if w.Lock != 0 && w.Since < t.closed {
			f(&w)
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("eBPF map %s: %w", name, err)
	}
	return nil
}

// frames reads a stack; a negative id is none.
func (t *Trace) frames(id int32, cache map[int32][]uint64) ([]uint64, error) {
	if id < 0 {
		return nil, nil
	}
	if f, ok := cache[id]; ok {
		return f, nil
	}
	raw := make([]uint64, t.opt.Depth)
	if err := t.coll.Maps["stacks"].Lookup(uint32(id), raw); err != nil {
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("eBPF stacks: %w", err)
	}
	if i := slices.Index(raw, 0); i >= 0 {
		raw = raw[:i]
	}
	cache[id] = raw
	return raw, nil
}

// Waits reads the lock and futex waits.
func (t *Trace) Waits() ([]Wait, error) {
	addrs := map[traceWaitKey][]uint64{}
	var ak traceAddrKey
	var one uint32
	it := t.coll.Maps["addrs"].Iterate()
	for it.Next(&ak, &one) {
		addrs[ak.Wait] = append(addrs[ak.Wait], ak.Lock)
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("eBPF map addrs: %w", err)
	}
	cache := map[int32][]uint64{}
	var out []Wait
	var k traceWaitKey
	var per []traceSums
	it = t.coll.Maps["waits"].Iterate()
	for it.Next(&k, &per) {
		w := Wait{Flags: k.Flags, Who: k.Who, Call: k.Call, Addresses: addrs[k], StackLost: k.Stack < -1}
		var err error
		if w.Frames, err = t.frames(k.Stack, cache); err != nil {
			return nil, err
		}
		for i := range per {
			w.merge(&per[i])
		}
		out = append(out, w)
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("eBPF map waits: %w", err)
	}
	return out, nil
}

// States of a thread, as in kernel/trace.bpf.c.
const (
	unknown = iota
	on
	runnable
	blocked
	gone
)

// Sleeps reads the sleeps by site and the threads, each closed at the window's
// end: what lasts across it counts up to it.
func (t *Trace) Sleeps() ([]Sleep, []Thread, error) {
	type key = traceSleepKey
	sums := map[key]*Sums{}
	var k key
	var per []traceSums
	it := t.coll.Maps["sleeps"].Iterate()
	for it.Next(&k, &per) {
		s := &Sums{}
		for i := range per {
			s.merge(&per[i])
		}
		sums[k] = s
	}
	if err := it.Err(); err != nil {
		return nil, nil, fmt.Errorf("eBPF map sleeps: %w", err)
	}
	var threads []Thread
	var tid uint32
	var th traceThread
	it = t.coll.Maps["threads"].Iterate()
	for it.Next(&tid, &th) {
		r := Thread{
			TID: int(tid), PID: int(th.Tgid), On: th.On, Runnable: th.Runnable, Blocked: th.Blocked,
			RunnableMax: th.RunnableMax, Voluntary: uint64(th.Voluntary), Involuntary: uint64(th.Involuntary),
			Wakes: uint64(th.Wakes), Migrations: uint64(th.Migrations), Seen: th.State != unknown,
			BeingWoken: th.BeingWoken, IdleExit: th.IdleExit, ClockOn: th.ClockOn, ClockRunnable: th.ClockRunnable, Uncharged: th.Uncharged, ClockMoved: th.ClockMoved, ClockKnown: th.Clock != 0,
		}
		from, to := max(th.Born, t.opened), t.closed
		if th.State == gone {
			to = min(th.Since, t.closed)
		}
		if from < to {
			r.Life = to - from
		}
		if since := max(th.Since, t.opened); since < t.closed {
			d := t.closed - since
			switch th.State {
			case on:
				r.On += d
				r.ClockOn += d
			case runnable:
				r.Runnable += d
				r.ClockRunnable += d
				r.RunnableMax = max(r.RunnableMax, d)
			case blocked:
				r.Blocked += d
				if m := max(th.Moved, t.opened); th.Moved != 0 && m < t.closed {
					r.ClockRunnable += t.closed - m
					r.ClockMoved += t.closed - m
				}
				k := key{Stack: th.Stack, Call: th.Call, Deep: th.Deep}
				if sums[k] == nil {
					sums[k] = &Sums{}
				}
				one := traceSums{Count: 1, Total: d, Min: d, Max: d}
				one.Hist[min(bitsOf(d), len(one.Hist)-1)] = 1
				sums[k].merge(&one)
			}
		}
		threads = append(threads, r)
	}
	if err := it.Err(); err != nil {
		return nil, nil, fmt.Errorf("eBPF map threads: %w", err)
	}
	cache := map[int32][]uint64{}
	var out []Sleep
	for k, s := range sums {
		f, err := t.frames(k.Stack, cache)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, Sleep{Frames: f, StackLost: k.Stack < -1, Call: k.Call, Deep: k.Deep != 0, Sums: *s})
	}
	return out, threads, nil
}

func bitsOf(v uint64) (n int) {
	for ; v > 0; v >>= 1 {
		n++
	}
	return n
}

// Wakeups reads the wake-up latencies, apart by whether the CPU that the woken
// thread got had been idle or had another thread.
func (t *Trace) Wakeups() (fromIdle, behind Latencies, err error) {
	if behind, err = t.latencies(wayBehind); err == nil {
		fromIdle, err = t.latencies(wayFromIdle)
	}
	return fromIdle, behind, err
}

// Indices of the map wakeups, as in kernel/trace.bpf.c.
const (
	wayBehind uint32 = iota
	wayFromIdle
)

func (t *Trace) latencies(way uint32) (Latencies, error) {
	var per []traceLatencies
	if err := t.coll.Maps["wakeups"].Lookup(way, &per); err != nil {
		return Latencies{}, fmt.Errorf("eBPF map wakeups: %w", err)
	}
	l := Latencies{SubBits: 2}
	for _, p := range per {
		if p.Count == 0 {
			continue
		}
		if l.Count == 0 || p.Min < l.Min {
			l.Min = p.Min
		}
		l.Max = max(l.Max, p.Max)
		l.Count += p.Count
		l.Total += p.Total
		if l.Hist == nil {
			l.Hist = make([]uint64, len(p.Hist))
		}
		for i, n := range p.Hist {
			l.Hist[i] += n
		}
	}
	return l, nil
}

// Pairs reads how often threads moved from one CPU to another, and how often
// a waker on one CPU woke a thread that then ran on another.
func (t *Trace) Pairs() (moves, wakes []Pair, err error) {
	var k tracePairKey
	var n uint64
	it := t.coll.Maps["pairs"].Iterate()
	for it.Next(&k, &n) {
		p := Pair{From: int(k.From), To: int(k.To), N: n}
		if k.What == 0 {
			moves = append(moves, p)
		} else {
			wakes = append(wakes, p)
		}
	}
	if err := it.Err(); err != nil {
		return nil, nil, fmt.Errorf("eBPF map pairs: %w", err)
	}
	return moves, wakes, nil
}
