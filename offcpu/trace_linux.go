package offcpu

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"udsbench/bpf"
	"udsbench/histogram"
	"udsbench/kallsyms"
	"udsbench/record"
)

// Trace watches processes at their context switches by eBPF: sched_switch,
// sched_waking and sched_wakeup. The calls come in this order: Start, Open
// and Close as the window opens and closes, Stop.
type Trace struct {
	opt    bpf.Options
	trace  *bpf.Trace
	names  *kallsyms.Table
	inst   record.Instrument
	opened bool
}

func bpfOptions(o Options) bpf.Options {
	return bpf.Options{Sched: true, PIDs: o.PIDs, Threads: o.Threads, SleepStacks: o.Stacks, Depth: o.Depth}
}

// Probe is nil where a Trace can run here; else the error says why not and
// what would make it so.
func Probe(o Options) error { return bpf.Available(bpfOptions(o)) }

// Start attaches to the processes, which exist already. It may take a second.
func Start(o Options) (*Trace, error) {
	t := &Trace{opt: bpfOptions(o), inst: record.Instrument{Name: "sched", Source: "ebpf", CPUs: runtime.NumCPU()}}
	var err error
	if t.opt.SleepStacks {
		if t.names, err = kallsyms.Load(); err != nil {
			t.opt.SleepStacks = false
			t.inst.Notes = append(t.inst.Notes, "no stacks: "+err.Error())
		}
	}
	if t.trace, err = bpf.Start(t.opt); err != nil {
		return nil, err
	}
	return t, nil
}

// Open begins the window.
func (t *Trace) Open() error {
	t.opened = true
	return t.trace.Open()
}

// Close ends the window.
func (t *Trace) Close() error { return t.trace.Close() }

// Stop ends the watching and gives what was seen in the window.
func (t *Trace) Stop() (*record.Sched, error) {
	defer t.trace.Unload()
	if !t.opened {
		return nil, errors.New("off-CPU trace: the window was never opened")
	}
	if err := t.trace.Close(); err != nil {
		return nil, err
	}
	cost, _, known := t.trace.Cost()
	t.trace.Detach()
	sleeps, threads, err := t.trace.Sleeps()
	if err != nil {
		return nil, err
	}
	fromIdle, behind, err := t.trace.Wakeups()
	if err != nil {
		return nil, err
	}
	moves, wakes, err := t.trace.Pairs()
	if err != nil {
		return nil, err
	}
	counters, err := t.trace.Counters()
	if err != nil {
		return nil, err
	}
	out := &record.Sched{Sleeps: t.sleeps(sleeps), Threads: t.threads(threads), Moves: cpuPairs(moves), Wakes: cpuPairs(wakes)}
	idle, other := coarse(fromIdle), coarse(behind)
	var wakeups histogram.Coarse
	wakeups.Merge(idle)
	wakeups.Merge(other)
	out.WakeupNS, out.WakeupHistogram = wakeups.Record()
	out.WakeupIdleNS, out.WakeupIdleHistogram = idle.Record()
	out.WakeupBehindNS, out.WakeupBehindHistogram = other.Record()

	window, lost := t.trace.WindowNS(), int64(counters.Lost())
	t.inst.WindowNS, t.inst.Lost, t.inst.Blind = &window, &lost, t.Blind()
	if known {
		ns, calls := int64(cost.NS), int64(cost.Calls)
		t.inst.SelfNS, t.inst.Calls = &ns, &calls
	}
	note := func(n uint64, what string) {
		if n > 0 {
			t.inst.Notes = append(t.inst.Notes, fmt.Sprintf("%d %s", n, what))
		}
	}
	note(counters.LostStacks, "stacks had no room in the kernel's table")
	note(counters.LostSites, "sleeps or CPU pairs had no room and are missing")
	note(counters.LostThreads, "events were of threads for which there was no room")
	note(counters.Misses, "events came while a program already ran on their CPU and are missing")
	return out, nil
}

// Blind says what the trace cannot see.
func (t *Trace) Blind() []string {
	out := []string{
		"why a thread was runnable and not running: it names what threads slept for, not who had the CPU",
		"time that interrupts and the hypervisor took from a running thread: it counts as time on the CPU",
	}
	if len(t.opt.Threads) > 0 {
		out = append(out, "threads of the Go runtime in the workers' processes: only the workers' own are watched")
	}
	if !t.opt.SleepStacks {
		out = append(out, "the function that slept: no stacks were taken, sites are system calls")
	}
	return out
}

// Instrument describes the watching; complete after Stop.
func (t *Trace) Instrument() record.Instrument { return t.inst }

func coarse(l bpf.Latencies) histogram.Coarse {
	return histogram.Coarse{SubBits: l.SubBits, Counts: l.Hist, Count: l.Count, Total: l.Total, Min: l.Min, Max: l.Max}
}

func cpuPairs(in []bpf.Pair) []record.CPUPair {
	out := make([]record.CPUPair, len(in))
	for i, p := range in {
		out[i] = record.CPUPair{From: p.From, To: p.To, N: int64(p.N)}
	}
	slices.SortFunc(out, func(a, b record.CPUPair) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return out
}

// sleeps names the sites and sums those of one name.
func (t *Trace) sleeps(in []bpf.Sleep) []record.Sleep {
	type key struct {
		site, caller string
		deep         bool
	}
	sums := map[key]*bpf.Sums{}
	stacks := map[key][]record.LockStack{}
	for _, s := range in {
		k := key{site: bpf.SystemCall(s.Call), deep: s.Deep}
		if s.Frames != nil {
			frames := kallsyms.Frames(t.names, s.Frames)
			if at := kallsyms.Site(frames, true); at < len(frames) {
				k.site, k.caller = frames[at].Name, ""
				if at+1 < len(frames) {
					k.caller = frames[at+1].Name
				}
				var names []string
				for _, f := range slices.Backward(frames[at:]) {
					names = append(names, cmp.Or(f.Name, "(no function)"))
				}
				stacks[k] = append(stacks[k], record.LockStack{Frames: names, Count: int64(s.Count), TotalNS: int64(s.Total)})
			}
		}
		have := sums[k]
		if have == nil {
			have = &bpf.Sums{}
			sums[k] = have
		}
		have.Add(s.Sums)
	}
	var out []record.Sleep
	for k, s := range sums {
		h := &record.Histogram{Unit: "ns"}
		for i, n := range s.Hist {
			if n > 0 {
				h.Buckets = append(h.Buckets, [2]uint64{uint64(i), n})
			}
		}
		st := stacks[k]
		slices.SortStableFunc(st, func(a, b record.LockStack) int { return cmp.Compare(b.TotalNS, a.TotalNS) })
		out = append(out, record.Sleep{Site: k.site, Caller: k.caller, Deep: k.deep, Count: int64(s.Count), TotalNS: int64(s.Total),
			MinNS: int64(s.Min), MaxNS: int64(s.Max), Histogram: h, Stacks: st[:min(len(st), 8)]})
	}
	sortSleeps(out)
	return out
}

// threads adds those of which no event told: asleep all the time, or running
// all the time, which /proc tells.
func (t *Trace) threads(in []bpf.Thread) []record.ThreadTime {
	var out []record.ThreadTime
	seen := map[int]bool{}
	for _, th := range in {
		if !th.Seen {
			continue
		}
		seen[th.TID] = true
		out = append(out, record.ThreadTime{BeingWokenNS: int64(th.BeingWoken), IdleExitNS: int64(th.IdleExit), Clock: clockOf(th), PID: th.PID, TID: th.TID, LifeNS: int64(th.Life), OnNS: int64(th.On), RunnableNS: int64(th.Runnable), BlockedNS: int64(th.Blocked),
			RunnableMaxNS: int64(th.RunnableMax), Voluntary: int64(th.Voluntary), Involuntary: int64(th.Involuntary), Wakes: int64(th.Wakes), Migrations: int64(th.Migrations)})
	}
	for _, pid := range t.opt.PIDs {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			continue // it has ended, and every end is an event
		}
		for _, e := range tasks {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || seen[tid] {
				continue
			}
			if some := t.opt.Threads[pid]; len(some) > 0 && !slices.Contains(some, tid) {
				continue
			}
			r := record.ThreadTime{PID: pid, TID: tid, LifeNS: t.trace.WindowNS()}
			if state := stateOf(pid, tid); state == 'S' || state == 'D' || state == 'T' {
				r.BlockedNS, r.Clock = r.LifeNS, &record.RunQueueTime{}
			} else {
				r.Unavailable = "it never switched in the window, so it ran, or waited for a CPU, all the time"
			}
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record.ThreadTime) int { return cmp.Compare(a.TID, b.TID) })
	return out
}

// clockOf is what the run queues' clocks tell; nil where they are out of reach.
func clockOf(th bpf.Thread) *record.RunQueueTime {
	if !th.ClockKnown {
		return nil
	}
	return &record.RunQueueTime{OnNS: int64(th.ClockOn - min(th.Uncharged, th.ClockOn)), UnchargedNS: int64(th.Uncharged), RunnableNS: int64(th.ClockRunnable), MovedAsleepNS: int64(th.ClockMoved)}
}

// stateOf reads the state of a thread, proc(5).
func stateOf(pid, tid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return 0
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == ')' && i+2 < len(b) {
			return b[i+2]
		}
	}
	return 0
}
