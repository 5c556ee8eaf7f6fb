package pid1

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of sys/cpuset.h: the assigned set of a process, the caller's.
const (
	cpuLevelCpuset = 2
	cpuWhichPID    = 2
	self           = ^uintptr(0) // id −1
)

// cpusetWords holds CPU_MAXSIZE (1024) bits, lowest word first.
const cpusetWords = 1024 / 64

// ownCpuset is the set that confine made for init, 0 before.
var ownCpuset int32

// takeOffline refuses: FreeBSD decides at boot which CPUs it starts.
func takeOffline(cpus []int) error {
	return fmt.Errorf("FreeBSD takes no CPU offline while it runs: set hint.lapic.N.disabled=1 in the loader (N is the APIC number of CPU %d)", cpus[0])
}

// confine gives init, and so all that it starts from now on, a cpuset of its
// own that holds only these CPUs (cpuset(2), cpuset_setaffinity(2)).
func confine(cpus []int, _ bool) error {
	var mask [cpusetWords]uint64
	for _, cpu := range cpus {
		if cpu >= cpusetWords*64 {
			return fmt.Errorf("CPU %d: a cpuset holds CPUs 0-%d", cpu, cpusetWords*64-1)
		}
		mask[cpu/64] |= 1 << (cpu % 64)
	}
	if ownCpuset == 0 {
		if _, _, errno := unix.Syscall(unix.SYS_CPUSET, uintptr(unsafe.Pointer(&ownCpuset)), 0, 0); errno != 0 {
			return fmt.Errorf("cpuset: %w", errno)
		}
	}
	// Kernels before 14 hold 256 CPUs on amd64 and refuse a longer mask.
	for _, size := range []uintptr{cpusetWords * 8, 256 / 8} {
		_, _, errno := unix.Syscall6(unix.SYS_CPUSET_SETAFFINITY, cpuLevelCpuset, cpuWhichPID, self, size, uintptr(unsafe.Pointer(&mask)), 0)
		switch {
		case errno == unix.ERANGE:
			continue
		case errors.Is(errno, unix.EINVAL), errors.Is(errno, unix.EDEADLK):
			return fmt.Errorf("cpuset_setaffinity: %w: one of CPUs %v is not there", errno, cpus)
		case errno != 0:
			return fmt.Errorf("cpuset_setaffinity: %w", errno)
		}
		return nil
	}
	return fmt.Errorf("cpuset_setaffinity: %w: the kernel takes neither a mask of 1024 bits nor one of 256", unix.ERANGE)
}
