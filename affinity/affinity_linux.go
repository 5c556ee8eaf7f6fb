package affinity

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// set is sched_setaffinity(2) on the calling thread. The kernel ignores bits
// above its own mask size, so that the buffer may be as long as it must.
func set(cpus []int) error {
	mask := toMask(cpus, 128)
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, uintptr(len(mask)), uintptr(unsafe.Pointer(&mask[0])))
	if errno != 0 {
		return fmt.Errorf("sched_setaffinity: %w", errno)
	}
	return nil
}

// MaskOf returns the mask of the thread with the kernel's id tid (0: the
// calling thread), ascending: sched_getaffinity(2), which cuts it with the
// processors that are online.
func MaskOf(tid int) ([]int, error) {
	// The kernel answers EINVAL to a buffer shorter than its own masks, whose
	// size it tells nobody.
	for size := 128; size <= (MaxCPU+1)/8; size *= 2 {
		mask := make([]byte, size)
		n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), uintptr(size), uintptr(unsafe.Pointer(&mask[0])))
		if errno == unix.EINVAL {
			continue
		}
		if errno != 0 {
			return nil, fmt.Errorf("sched_getaffinity of thread %d: %w", tid, errno)
		}
		return fromMask(mask[:n]), nil
	}
	return nil, fmt.Errorf("sched_getaffinity of thread %d: the kernel's masks are longer than %d bytes", tid, (MaxCPU+1)/8)
}

// Process returns the processors that the first thread of this process may run
// on, ascending: what the process was given, whatever other threads did to
// themselves since.
func Process() ([]int, error) { return MaskOf(os.Getpid()) }

// CPU returns the processor that the calling thread runs on now: getcpu(2).
func CPU() (int, error) {
	var cpu uint32
	_, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if errno != 0 {
		return -1, fmt.Errorf("getcpu: %w", errno)
	}
	return int(cpu), nil
}

// Online returns the processors that are online, ascending, whether or not
// this process may use them: /sys/devices/system/cpu/online, or /proc/stat
// where sysfs is not mounted.
func Online() ([]int, error) {
	if text, err := os.ReadFile("/sys/devices/system/cpu/online"); err == nil {
		return ParseList(strings.TrimRight(string(text), "\n\x00"))
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("which CPUs are online is not available: %w", err)
	}
	var cpus []int
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, " ")
		if digits, found := strings.CutPrefix(name, "cpu"); found && digits != "" {
			if c, err := strconv.Atoi(digits); err == nil {
				cpus = append(cpus, c)
			}
		}
	}
	slices.Sort(cpus)
	return cpus, nil
}
