package runner

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"udsbench/record"
	"udsbench/sched"
)

const rusageThread = unix.RUSAGE_THREAD

// raise lifts the calling thread above the workers and says how: real-time
// where it may, else a negative nice value, else not at all. Children and new
// threads do not inherit it.
func raise() string {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: sched.TopPriority + 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &attr, 0) == nil {
		return fmt.Sprintf("SCHED_FIFO %d", attr.Priority)
	}
	for _, nice := range []int{-20, -10, -5} {
		if unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice) == nil {
			return fmt.Sprintf("nice %d", nice)
		}
	}
	return "not above the workers (needs CAP_SYS_NICE)"
}

// sleepUntil sleeps the calling thread until CLOCK_MONOTONIC reads ns: not a
// timer of the Go runtime, whose other threads have no priority.
func sleepUntil(ns int64) {
	ts := unix.NsecToTimespec(ns)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}

const onCPUSource = "schedstat"

const noMigrations = "the kernel has no /proc/PID/task/TID/sched (CONFIG_SCHED_DEBUG)"

func noSchedstat(e syscall.Errno) string {
	return "/proc/thread-self/schedstat: " + e.Error() + " (CONFIG_SCHED_INFO)"
}

// stopped reports whether a process is stopped by a signal (state T of
// /proc/PID/stat, proc(5)).
func stopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || pid == 0 {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "T")
}

// Self is a path of this program that holds whatever becomes of its file: a
// build in mid-session must not start other workers than before.
func Self() (string, error) {
	const exe = "/proc/self/exe"
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	return os.Executable()
}

// threadsCount: Linux counts threads against RLIMIT_NPROC.
const threadsCount = true

// checkKernel has nothing to refuse: threads count as tasks do, and a listener
// whose queue is full lets its clients wait.
func checkKernel(record.Cell) error { return nil }
