package lockwait

import (
	"strings"

	"udsbench/kallsyms"
	"udsbench/record"
)

// ownWait tells whether a wait was the tracer's: a program of it lies above
// the site.
func ownWait(above []kallsyms.Frame) bool {
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
func where(kthread bool, above []kallsyms.Frame) string {
	for _, f := range above {
		for _, c := range contextNames {
			if kallsyms.HasPrefix(f.Name, c.names) {
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
