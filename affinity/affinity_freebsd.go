package affinity

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From sys/cpuset.h.
const (
	levelRoot  = 1 // CPU_LEVEL_ROOT: everything that the jail or the machine has
	levelWhich = 3 // CPU_LEVEL_WHICH: the mask of one thread or process
	whichTID   = 1 // CPU_WHICH_TID
	whichPID   = 2 // CPU_WHICH_PID
	self       = ^uintptr(0)
)

// Releases up to 13 take exactly their own mask size (32 bytes, 256
// processors) and answer ERANGE to others; later ones take any size from
// kern.sched.cpusetsizemin up (sys/kern/kern_cpuset.c).
var maskSizes = []int{128, 32, 256, 512, 1024, 64, 16, 8}

// set is cpuset_setaffinity(2) on the calling thread, not on its process.
func set(cpus []int) error {
	errno := unix.ERANGE
	for _, size := range maskSizes {
		mask := toMask(cpus, size)
		if len(mask) > size {
			continue
		}
		_, _, errno = unix.RawSyscall6(unix.SYS_CPUSET_SETAFFINITY, levelWhich, whichTID, self,
			uintptr(size), uintptr(unsafe.Pointer(&mask[0])), 0)
		if errno == 0 {
			return nil
		}
		if errno != unix.ERANGE {
			break
		}
	}
	return fmt.Errorf("cpuset_setaffinity: %w", errno)
}

func get(level, which, id uintptr) ([]int, error) {
	errno := unix.ERANGE
	for _, size := range maskSizes {
		mask := make([]byte, size)
		_, _, errno = unix.RawSyscall6(unix.SYS_CPUSET_GETAFFINITY, level, which, id,
			uintptr(size), uintptr(unsafe.Pointer(&mask[0])), 0)
		if errno == 0 {
			return fromMask(mask), nil
		}
		if errno != unix.ERANGE {
			break
		}
	}
	return nil, fmt.Errorf("cpuset_getaffinity: %w", errno)
}

// MaskOf returns the mask of the thread with the kernel's id tid (0: the
// calling thread), ascending: cpuset_getaffinity(2).
func MaskOf(tid int) ([]int, error) {
	id := self
	if tid != 0 {
		id = uintptr(tid)
	}
	return get(levelWhich, whichTID, id)
}

// Process returns the processors that the threads of this process may run on,
// all taken together, ascending: the kernel answers no other way for a process.
func Process() ([]int, error) { return get(levelWhich, whichPID, self) }

// Online returns the processors of the root set, ascending. In a jail that is
// what the jail was given: the kernel shows no more.
func Online() ([]int, error) { return get(levelRoot, whichPID, self) }

// sys/kern/syscalls.master; there since 13.1. Older kernels answer an unknown
// call with SIGSYS, which ends a Go program, so that the release is asked for
// first.
const (
	sysSchedGetcpu   = 581
	schedGetcpuSince = 1301000
)

var osreldate, osreldateErr = unix.SysctlUint32("kern.osreldate")

// CPU returns the processor that the calling thread runs on now:
// sched_getcpu(2), which kernels before 13.1 lack.
func CPU() (int, error) {
	if osreldateErr != nil {
		return -1, fmt.Errorf("the CPU in use is not available: kern.osreldate: %w", osreldateErr)
	}
	if osreldate < schedGetcpuSince {
		return -1, fmt.Errorf("the CPU in use is not available: sched_getcpu came with release 13.1 (kern.osreldate 1301000), this kernel is %d", osreldate)
	}
	cpu, _, errno := unix.RawSyscall(sysSchedGetcpu, 0, 0, 0)
	if errno != 0 {
		return -1, fmt.Errorf("the CPU in use is not available: sched_getcpu: %w", errno)
	}
	return int(cpu), nil
}
