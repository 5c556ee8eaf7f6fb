package runner

import (
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// move puts another process's threads on a CPU, as cpuset(1) does
// (cpuset_setaffinity(2): CPU_LEVEL_WHICH 3, CPU_WHICH_PID 2).
func move(t *testing.T, pid, cpu int) {
	var mask [16]uint64
	mask[cpu/64] = 1 << (cpu % 64)
	if _, _, e := syscall.Syscall6(unix.SYS_CPUSET_SETAFFINITY, 3, 2, uintptr(pid), unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)), 0); e != 0 {
		t.Error(e)
	}
}
