// Package affinity ties a thread to processors and proves that it is tied.
//
//	flags → plan → placement → WORKERS → run record → journal → series → comparison → report
//	                              └ each pins its own thread here, before the first gate
//
// A kernel may take a mask and cut it (a cpuset, a processor that went
// offline), so that a mask that was set proves nothing: Pin reads the mask
// back, and CPU says where the thread really is. Processors are named by the
// kernel's numbers, which have holes and may be greater than 1024.
//
// Everything here is about the calling thread, so callers hold
// runtime.LockOSThread.
package affinity

import (
	"fmt"
	"slices"
)

// Pin ties the calling thread to the processors of cpus, reads the mask back
// and returns an error that names the first processor that did not take and
// the mask that the thread has: the processor is offline or absent, or lies
// outside the cpuset of the process.
func Pin(cpus []int) error {
	if len(cpus) == 0 {
		return fmt.Errorf("pinning to no CPU at all: name at least one")
	}
	for _, c := range cpus {
		if c < 0 || c > MaxCPU {
			return fmt.Errorf("CPU %d: a CPU number lies between 0 and %d", c, MaxCPU)
		}
	}
	setErr := set(cpus)
	have, err := Mask()
	if err != nil {
		return fmt.Errorf("pinned to %s, but the mask cannot be read back: %w", FormatList(cpus), err)
	}
	want := slices.Clone(cpus)
	slices.Sort(want)
	want = slices.Compact(want)
	if setErr == nil && slices.Equal(want, have) {
		return nil
	}
	return refused(want, have, setErr)
}

// refused says which processor is to blame for a mask that did not take.
func refused(want, have []int, cause error) error {
	online, err := Online()
	for _, c := range want {
		if cause == nil && slices.Contains(have, c) {
			continue
		}
		if err == nil && !slices.Contains(online, c) {
			return &Error{CPU: c, Want: want, Have: have, Why: "is offline or absent", Err: cause}
		}
	}
	for _, c := range want {
		if !slices.Contains(have, c) {
			return &Error{CPU: c, Want: want, Have: have, Why: "is outside the cpuset of this process", Err: cause}
		}
	}
	return &Error{CPU: want[0], Want: want, Have: have, Why: "was not taken alone", Err: cause}
}

// Error is a mask that did not take.
type Error struct {
	CPU  int    // the first processor that is missing
	Want []int  // the mask asked for
	Have []int  // the mask that the thread has now
	Why  string // what is wrong with CPU
	Err  error  // what the system call said, or nil where the kernel took a part of the mask
}

func (e *Error) Error() string {
	s := fmt.Sprintf("CPU %d %s: asked for %s, the thread has %s; choose among these",
		e.CPU, e.Why, FormatList(e.Want), FormatList(e.Have))
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Mask returns the processors that the calling thread may run on, ascending.
// Processors that are offline are not among them.
func Mask() ([]int, error) { return MaskOf(0) }
