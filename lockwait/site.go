package lockwait

import (
	"fmt"
	"strings"

	"udsbench/kallsyms"
	"udsbench/record"
)

// Frame is one function of a kernel stack.
type Frame struct {
	Name  string // "" where no function is at the address
	Lock  bool   // a lock primitive, by its place in the kernel's text
	Sched bool   // sleeps for its caller, by its place in the kernel's text
}

// Frames names the addresses of a stack, innermost first. Without a table the
// addresses stand for themselves.
func Frames(t *kallsyms.Table, addrs []uint64) []Frame {
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

func hasPrefix(name string, prefixes []string) bool {
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

func (f Frame) tracer() bool { return f.Name == "" || hasPrefix(f.Name, tracerNames) }

// site finds the function that wanted the lock: the first past the tracer's
// frames, past lock primitives and, for waits that sleep, past the functions
// that sleep for others. For spinning waits those stay, since __schedule does
// want the run queue's lock. It is len(frames) where nothing is left.
func site(frames []Frame, sleeps bool) int {
	for i, f := range frames {
		if f.tracer() || f.Lock || hasPrefix(f.Name, lockNames) {
			continue
		}
		if sleeps && (f.Sched || hasPrefix(f.Name, schedNames)) {
			continue
		}
		return i
	}
	return len(frames)
}

// ownWait tells whether a wait was the tracer's: a program of it lies above
// the site.
func ownWait(above []Frame) bool {
	for _, f := range above {
		if strings.HasPrefix(f.Name, "bpf_prog_") || strings.HasPrefix(f.Name, "bpf_trampoline") {
			return true
		}
	}
	return false
}

// Where a stack came into the context that it is in, going outward from the
// site: the first of these names decides.
var contextNames = []struct {
	where string
	names []string
}{
	{record.InSoftirq, []string{"handle_softirqs", "__do_softirq", "do_softirq", "__softirqentry", "run_ksoftirqd"}},
	// An interrupt that ended in a switch of tasks is the task's again.
	{record.InWorkers, []string{"preempt_schedule_irq", "irqentry_exit", "exit_to_user_mode", "exit_to_kernel_mode", "do_syscall_64", "__do_syscall", "el0_svc", "invoke_syscall", "exc_page_fault", "el0_da"}},
	{record.InIRQ, []string{"asm_sysvec_", "sysvec_", "asm_common_interrupt", "common_interrupt", "__common_interrupt", "handle_irq", "gic_handle_irq", "el1_interrupt", "el0_interrupt", "el1h_64_irq", "el0t_64_irq", "hrtimer_interrupt", "asm_exc_nmi", "exc_nmi"}},
}

// where tells in which context the frames above a site ran.
func where(kthread bool, above []Frame) string {
	for _, f := range above {
		for _, c := range contextNames {
			if hasPrefix(f.Name, c.names) {
				if kthread && c.where == record.InWorkers {
					return record.InKthread
				}
				return c.where
			}
		}
	}
	if kthread {
		return record.InKthread
	}
	return record.InWorkers
}
