package bpf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// DefaultDepth is how many frames of a stack are kept unless told otherwise. A
// wait in softirq under a loopback send lies some twenty frames above the
// system call that caused it.
const DefaultDepth = 32

// Options say what to watch.
type Options struct {
	PIDs []int // processes, all their threads included
	// Threads are the workers among a process's threads. One that has none here
	// works on any of them (goroutines). nil: not known; all count as workers.
	Threads     map[int][]int
	Locks       bool
	Futexes     bool
	Sched       bool
	LockStacks  bool // about 4 µs more a wait; without them the site is a system call
	SleepStacks bool // doubles the cost of a ping-pong
	Depth       int  // frames of a stack, 1 to 127; 0: DefaultDepth
}

// programs lists the programs that an option needs, in the order of their
// attachment: an end before its begin, so that no wait is left without one.
func (o Options) programs() []string {
	var names []string
	if o.Locks {
		names = append(names, "contention_end", "contention_begin")
	}
	if o.Futexes {
		names = append(names, "futex_switch")
	}
	if o.Sched {
		names = append(names, "sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_waking", "sched_migrate")
	}
	return names
}

// Trace is a set of loaded programs. It sums nothing until Open.
type Trace struct {
	opt    Options
	coll   *ebpf.Collection
	links  []link.Link
	stats  interface{ Close() error }
	opened uint64
	closed uint64
	before account // of the programs, as the window opened
	after  account // and as it closed

	once sync.Once
}

// kernelBTF is where the kernel shows its types.
const kernelBTF = "/sys/kernel/btf/vmlinux"

// Available says whether the programs for o can run here: nil, or an error
// that says why not and what would make it so. It loads and verifies them, as
// nothing less would tell.
func Available(o Options) error {
	o.PIDs = nil
	t, err := load(o)
	if err != nil {
		return err
	}
	t.Unload()
	return nil
}

// Start loads the programs for o and attaches them. They count from Open on.
func Start(o Options) (*Trace, error) {
	t, err := load(o)
	if err != nil {
		return nil, err
	}
	// The kernel's own account of the programs' time; it costs two clock
	// readings a call and is what makes the instrument's price known.
	if s, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME); err == nil {
		t.stats = s
	}
	for _, name := range o.programs() {
		l, err := link.AttachTracing(link.TracingOptions{Program: t.coll.Programs[name]})
		if err != nil {
			t.Unload()
			return nil, fmt.Errorf("eBPF: attaching %s: %w", name, err)
		}
		t.links = append(t.links, l)
	}
	return t, nil
}

func load(o Options) (*Trace, error) {
	if o.Depth == 0 {
		o.Depth = DefaultDepth
	}
	if o.Depth < 1 || o.Depth > 127 {
		return nil, fmt.Errorf("eBPF: stack depth %d: must be 1 to 127", o.Depth)
	}
	if _, err := os.Stat(kernelBTF); err != nil {
		return nil, fmt.Errorf("eBPF: no %s: the kernel needs CONFIG_DEBUG_INFO_BTF", kernelBTF)
	}
	spec, err := loadTrace()
	if err != nil {
		return nil, fmt.Errorf("eBPF: the embedded object: %w", err)
	}
	wanted := map[string]bool{}
	for _, name := range o.programs() {
		wanted[name] = true
	}
	for name := range spec.Programs {
		if !wanted[name] {
			delete(spec.Programs, name)
		}
	}
	size(spec, o)
	for name, v := range map[string]uint32{
		"cfg_lock_stacks":  number(o.LockStacks),
		"cfg_sched_stacks": number(o.SleepStacks),
		"cfg_futex":        unix.SYS_FUTEX,
	} {
		if err := spec.Variables[name].Set(v); err != nil {
			return nil, fmt.Errorf("eBPF: %s: %w", name, err)
		}
	}
	coll, err := ebpf.NewCollection(spec)
	if errors.Is(err, unix.EPERM) && os.Geteuid() == 0 {
		// Before Linux 5.11 maps count against RLIMIT_MEMLOCK. (The library's
		// way of asking would cost every process of ours at its start.)
		unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		if unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unlimited) == nil {
			coll, err = ebpf.NewCollection(spec)
		}
	}
	if err != nil {
		return nil, refusal(o, err)
	}
	t := &Trace{opt: o, coll: coll}
	for _, pid := range o.PIDs {
		which := uint32(listed)
		switch tids := o.Threads[pid]; {
		case o.Threads == nil:
			which = all
		case len(tids) == 0:
			which = goroutines
		default:
			for _, tid := range tids {
				if err := coll.Maps["tids"].Put(uint32(tid), uint32(1)); err != nil {
					t.Unload()
					return nil, fmt.Errorf("eBPF: thread %d: %w", tid, err)
				}
			}
		}
		if err := coll.Maps["tgids"].Put(uint32(pid), which); err != nil {
			t.Unload()
			return nil, fmt.Errorf("eBPF: process %d: %w", pid, err)
		}
	}
	return t, nil
}

// What a process's value in tgids says of its threads, as in kernel/trace.bpf.c.
const (
	listed     = 1
	goroutines = 2
	all        = 3
)

func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// size gives the maps room for o, and next to none to those that it leaves
// unused. A per-CPU map holds its values once for each possible CPU.
func size(spec *ebpf.CollectionSpec, o Options) {
	const sumsBytes, budget = 160, 128 << 20
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		cpus = runtime.NumCPU()
	}
	room := uint32(min(8192, max(1024, budget/(sumsBytes*cpus))))
	tids := 0
	for _, list := range o.Threads {
		tids += len(list)
	}
	threads := uint32(max(8192, 16*len(o.PIDs), 2*tids))
	set := func(name string, used bool, n uint32) {
		if !used {
			n = 1
		}
		spec.Maps[name].MaxEntries = n
	}
	set("tgids", true, uint32(max(64, 2*len(o.PIDs))))
	set("tids", true, uint32(max(64, 2*tids)))
	set("waits", o.Locks || o.Futexes, room)
	set("addrs", o.Locks || o.Futexes, spec.Maps["addrs"].MaxEntries)
	set("sleepers", o.Locks, threads)
	set("futexes", o.Futexes, threads)
	set("threads", o.Sched, threads)
	set("sleeps", o.Sched, room/2)
	set("pairs", o.Sched, spec.Maps["pairs"].MaxEntries)
	set("stacks", o.LockStacks || o.SleepStacks, spec.Maps["stacks"].MaxEntries)
	spec.Maps["stacks"].ValueSize = uint32(o.Depth * 8)
}

// refusal says what a person can do about a refused load.
func refusal(o Options, err error) error {
	var verifier *ebpf.VerifierError
	switch {
	case errors.As(err, &verifier) && errors.Is(err, unix.EACCES) && len(verifier.Log) > 0:
		return fmt.Errorf("eBPF: this kernel's verifier refuses the programs: %w", err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		if os.Geteuid() == 0 {
			return fmt.Errorf("eBPF: refused even to root (lockdown, a security module or a container's seccomp filter): %w", cause(err))
		}
		return errors.New("eBPF: needs root, or CAP_BPF and CAP_PERFMON (and CAP_SYSLOG for function names)")
	case errors.Is(err, unix.ENOSYS):
		return errors.New("eBPF: this kernel has no bpf system call (CONFIG_BPF_SYSCALL)")
	case errors.Is(err, btf.ErrNotFound), errors.Is(err, ebpf.ErrNotSupported):
		if o.Locks {
			return fmt.Errorf("eBPF: this kernel lacks a tracepoint or a type that the programs need (lock:contention_begin came with Linux 5.19): %w", cause(err))
		}
		return fmt.Errorf("eBPF: this kernel lacks a tracepoint or a type that the programs need (sched_switch has its state since Linux 5.18): %w", cause(err))
	}
	return fmt.Errorf("eBPF: %w", err)
}

// cause gives the innermost error: what lies around it speaks of instructions.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Now is the clock of everything in a Trace, CLOCK_MONOTONIC in nanoseconds.
func Now() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // no Linux is without it
	}
	return uint64(ts.Nano())
}

// Open begins the window now. What began earlier counts from now on.
func (t *Trace) Open() error {
	t.before = t.account()
	t.opened = Now()
	return t.coll.Variables["opened"].Set(t.opened)
}

// Close ends the window now. What still lasts counts until now.
func (t *Trace) Close() error {
	if t.closed != 0 {
		return nil
	}
	t.closed = Now()
	err := t.coll.Variables["closed"].Set(t.closed)
	t.after = t.account()
	return err
}

// WindowNS gives the length of the window between Open and Close in nanoseconds.
func (t *Trace) WindowNS() int64 { return int64(t.closed - t.opened) }

// Detach ends the tracing; the sums stay readable until Unload. The programs
// stay loaded, so that their own frames in stacks still have names.
func (t *Trace) Detach() {
	for _, l := range t.links {
		l.Close()
	}
	t.links = nil
}

// Unload gives everything back.
func (t *Trace) Unload() {
	t.once.Do(func() {
		t.Detach()
		if t.stats != nil {
			t.stats.Close()
		}
		t.coll.Close()
	})
}
