package sched

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// KERN_PROC_PID and KERN_PROC_INC_THREAD of sys/sysctl.h.
const (
	kernProcPID       = 1
	kernProcIncThread = 0x10
)

// Threads reads the threads of a process. No privilege is needed for one's own
// processes.
func Threads(pid int) ([]Kinfo, error) {
	for try := 0; ; try++ {
		b, err := unix.SysctlRaw("kern.proc", kernProcPID|kernProcIncThread, pid)
		if err == unix.ENOMEM && try < 8 {
			continue // a thread more between asking the size and reading
		}
		if err != nil {
			return nil, fmt.Errorf("kern.proc.pid.%d: %w", pid, err)
		}
		return ParseKinfo(b)
	}
}
