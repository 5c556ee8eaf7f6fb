package lockwait

import "strings"

// Spinlocks is how this Linux waits for a spinlock, which decides what the
// contention tracepoints show of it. Counts of spinlock waits compare only
// between kernels of one kind.
type Spinlocks string

const (
	// SpinParavirt: a guest whose host can wake vCPUs. Every contended
	// acquisition goes through the queue and is seen.
	SpinParavirt Spinlocks = "paravirtual queued"
	// SpinNative: the first waiter spins on the pending bit and is not seen;
	// from the second on they queue and are.
	SpinNative Spinlocks = "native queued"
	// SpinTestAndSet: a guest without paravirtual spinlocks. No spinlock
	// wait is seen at all.
	SpinTestAndSet Spinlocks = "test-and-set (guest without paravirtual spinlocks)"
	// SpinRT: PREEMPT_RT; spinlocks are rt mutexes and seen as such.
	SpinRT Spinlocks = "sleeping (PREEMPT_RT)"
	// SpinUnknown: the kernel's log does not reach back to its boot.
	SpinUnknown Spinlocks = "unknown"
)

// spinlocksFrom tells the kind from the CPU's flags and the kernel's boot
// messages (arch/x86/kernel/kvm.c, arch/x86/hyperv/hv_spinlock.c,
// arch/x86/xen/spinlock.c): a guest says what it took, or that its host does
// not offer it.
func spinlocksFrom(arch string, guest, realtime bool, log string) Spinlocks {
	switch {
	case realtime:
		return SpinRT
	case arch != "amd64" || !guest:
		return SpinNative
	case strings.Contains(log, "PV spinlocks enabled"):
		return SpinParavirt
	case strings.Contains(log, "PV spinlocks disabled, no host support"):
		return SpinTestAndSet
	case strings.Contains(log, "PV spinlocks disabled"):
		return SpinNative
	case strings.Contains(log, "Linux version "):
		return SpinTestAndSet
	}
	return SpinUnknown
}

// blind says what the kind hides.
func (s Spinlocks) blind() string {
	switch s {
	case SpinParavirt:
		return ""
	case SpinNative:
		return "the first waiter of a spinlock: native queued spinlocks trace a waiter from the second on, so two contenders alone show next to nothing"
	case SpinTestAndSet:
		return "spinlocks: a guest without paravirtual spinlocks waits by test-and-set, which is not traced at all"
	case SpinRT:
		return "raw spinlocks' first waiters; other spinlocks are rt_mutex rows under PREEMPT_RT"
	}
	return "perhaps spinlocks: how this kernel waits for them is not known, as its boot messages are not readable (dmesg)"
}
