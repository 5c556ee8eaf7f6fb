package pingpong

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func threadID() int { return unix.Gettid() }

// fineTimers lets the calling thread's sleeps end when they should, not up to
// 50 µs later (prctl(2), PR_SET_TIMERSLACK).
func fineTimers() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// openSchedstat opens the calling thread's schedstat (Documentation/scheduler/
// sched-stats.rst), to be read by pread at the window's edges.
func openSchedstat(slot *Slot) int32 {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		slot.StatErrno = int32(errno)
		return -1
	}
	return int32(fd)
}

// migrations reads how often the calling thread has changed CPU, or -1 where
// the kernel does not say (se.nr_migrations, kernel/sched/debug.c; it needs
// CONFIG_SCHED_DEBUG before 6.15).
func migrations() int64 {
	b, err := os.ReadFile("/proc/thread-self/sched")
	if err != nil {
		return -1
	}
	_, rest, ok := bytes.Cut(b, []byte("se.nr_migrations"))
	if !ok {
		return -1
	}
	_, rest, _ = bytes.Cut(rest, []byte(":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
