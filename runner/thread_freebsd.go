package runner

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

const rusageThread = 1 // RUSAGE_THREAD of sys/resource.h

// From sys/rtprio.h.
const (
	rtpSet          = 1
	rtpPrioRealtime = 2
)

// raise lifts the calling thread above the workers and says how
// (rtprio_thread(2), which takes no thread id for the calling one).
func raise() string {
	rtp := struct{ kind, prio uint16 }{rtpPrioRealtime, 0}
	if _, _, e := syscall.Syscall(unix.SYS_RTPRIO_THREAD, rtpSet, 0, uintptr(unsafe.Pointer(&rtp))); e == 0 {
		return "rtprio 0"
	}
	return "not above the workers (needs root)"
}

// sleepUntil sleeps the calling thread until CLOCK_MONOTONIC reads ns
// (clock_nanosleep(2), system call 244).
func sleepUntil(ns int64) {
	const clockMonotonic, timerAbstime = 4, 1
	ts := unix.NsecToTimespec(ns)
	for {
		// The call returns its error instead of setting errno.
		r, _, _ := syscall.Syscall6(unix.SYS_CLOCK_NANOSLEEP, clockMonotonic, timerAbstime, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		if syscall.Errno(r) != unix.EINTR {
			return
		}
	}
}

const onCPUSource = "getrusage(RUSAGE_THREAD)"

const noMigrations = "FreeBSD does not count migrations by thread"

func noSchedstat(syscall.Errno) string { return "FreeBSD keeps no run-queue delay by thread" }

// stopped reports whether a process is stopped by a signal: SSTOP of sys/proc.h
// in ki_stat, at offset 388 of struct kinfo_proc on 64-bit systems.
func stopped(pid int) bool {
	const kiStat, sstop = 388, 4
	raw, err := unix.SysctlRaw("kern.proc.pid", pid)
	return err == nil && len(raw) > kiStat && raw[kiStat] == sstop
}

// Self is the path of this program's file.
func Self() (string, error) { return os.Executable() }

// threadsCount: FreeBSD counts processes against RLIMIT_NPROC.
const threadsCount = false

// checkKernel refuses what limits of FreeBSD's own do not hold: threads of one
// process (kern_thr_alloc in sys/kern/kern_thr.c), and the queue of a TCP
// listener (solisten_clone in sys/kern/uipc_socket.c;
// net.inet.tcp.syncache.rst_on_sock_fail). One that cannot be read refuses nothing.
func checkKernel(c record.Cell) error {
	for name, check := range map[string]func(record.Cell, int64, string) error{
		"kern.threads.max_threads_per_proc": checkThreads,
		"kern.ipc.soacceptqueue":            checkQueue,
	} {
		if limit, err := unix.SysctlUint32(name); err == nil {
			if err := check(c, int64(limit), name); err != nil {
				return err
			}
		}
	}
	return nil
}
