package kallsyms

import (
	"fmt"
	"strings"
)

// Frame is one function of a kernel stack.
type Frame struct {
	Name  string // "" where no function is at the address
	Lock  bool   // a lock primitive, by its place in the kernel's text
	Sched bool   // sleeps for its caller, by its place in the kernel's text
}

// Frames names the addresses of a stack, innermost first. Without a table the
// addresses stand for themselves.
func Frames(t *Table, addrs []uint64) []Frame {
	out := make([]Frame, len(addrs))
	for i, a := range addrs {
		if t == nil {
			out[i].Name = fmt.Sprintf("%#x", a)
			continue
		}
		at := a
		if i > 0 {
			at-- // a return address can be that of the next function
		}
		out[i].Name, _, _ = t.Name(at)
		out[i].Lock = t.IsLock(at)
		out[i].Sched = t.IsSched(at)
	}
	return out
}

// HasPrefix tells whether name begins with one of prefixes.
func HasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Frames of whoever traces: programs, trampolines, tracepoint stubs.
var tracerNames = []string{
	"bpf_prog_", "bpf_trampoline", "bpf_trace_run", "__bpf_trace", "__traceiter", "bpf_get_stack", "__bpf_get_stack",
	"ftrace_trampoline", "trace_event_", "perf_trace_", "perf_tp_event", "perf_swevent", "__perf_", "perf_callchain", "trace_contention",
}

// Lock primitives by name, for kernels that do not mark their place.
var lockNames = []string{
	"_raw_spin", "_raw_read", "_raw_write", "__raw_spin", "raw_spin_lock", "raw_spin_rq_lock", "do_raw_", "queued_", "native_queued", "__pv_queued",
	"resilient_", "rt_spin_lock", "rt_read_", "rt_write_", "rtlock_", "__rt_spin", "__rt_mutex", "rt_mutex_", "rwbase_", "lock_contended",
}

// Functions that sleep for their caller by name, likewise.
var schedNames = []string{
	"mutex_", "__mutex_", "ww_mutex_", "__ww_mutex_", "down_", "__down", "down", "rwsem_", "percpu_down", "__percpu_down", "percpu_rwsem",
	"schedule", "__schedule", "io_schedule", "wait_for_completion", "__wait_for_c", "do_wait_for",
}

func (f Frame) tracer() bool { return f.Name == "" || HasPrefix(f.Name, tracerNames) }

// Site finds the function that wanted to wait: the first past the tracer's
// frames, past lock primitives and, for waits that sleep, past the functions
// that sleep for others. For spinning waits those stay, since __schedule does
// want the run queue's lock. It is len(frames) where nothing is left.
func Site(frames []Frame, sleeps bool) int {
	for i, f := range frames {
		if f.tracer() || f.Lock || HasPrefix(f.Name, lockNames) {
			continue
		}
		if sleeps && (f.Sched || HasPrefix(f.Name, schedNames)) {
			continue
		}
		return i
	}
	return len(frames)
}
