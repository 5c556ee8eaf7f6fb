package lockwait

import (
	"cmp"
	"fmt"
	"strings"

	"udsbench/kallsyms"
	"udsbench/record"
)

// ownWait tells whether a wait was the tracer's: a program of it lies above
// the site, or the kernel frees the maps of an earlier run.
func ownWait(above []kallsyms.Frame) bool {
	for _, f := range above {
		if strings.HasPrefix(f.Name, "bpf_prog_") || strings.HasPrefix(f.Name, "bpf_trampoline") || f.Name == "bpf_map_free_deferred" {
			return true
		}
	}
	return false
}

// fullDepth is how many frames tell in which context a wait was: a softirq under
// a loopback send lies some twenty above the system call that caused it.
const fullDepth = 32

// blindStacks says what stacks of depth frames do not tell; 0 is the full depth.
func blindStacks(taken bool, depth int, instead string) []string {
	switch {
	case !taken:
		return []string{"which functions wait: no stacks were taken, " + instead, "softirqs and interrupts on a worker's time: their waits stand as the worker's"}
	case depth > 0 && depth < fullDepth:
		return []string{fmt.Sprintf("softirqs and interrupts on a worker's time, where a stack of %d frames ends before it shows them: their waits stand as the worker's", depth)}
	}
	return nil
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

// where tells in which context the frames above a site ran, of a thread that is
// who: a worker where that is empty. The first within of them are of that
// context; what lies further out was only interrupted.
func where(who string, above []kallsyms.Frame) (context string, within int) {
	who = cmp.Or(who, record.InWorkers)
	for i, f := range above {
		for _, c := range contextNames {
			if kallsyms.HasPrefix(f.Name, c.names) {
				if c.where == record.InWorkers {
					return who, i
				}
				return c.where, i
			}
		}
	}
	return who, len(above)
}
