package pingpong

import (
	"golang.org/x/sys/unix"

	"udsbench/record"
)

// As selfpair, by threads of one process on one descriptor table: each worker
// writes to and reads from a socketpair of its own. On FreeBSD before 2008 every
// system call took the table's lock (filedesc sx), and threads queued for it
// though they shared no socket. Linux looks descriptors up without a lock; with
// table=change each operation also duplicates and closes a descriptor, which
// takes files->file_lock there (alloc_fd, file_close_fd) and the filedesc lock
// on FreeBSD. With --model process each has a table of its own: that is the
// twin.
func init() {
	Register(Workload{
		Name:     "fdshare",
		Isolates: "descriptor table of one process: FreeBSD filedesc lock, Linux files->file_lock with table=change and no lock with table=read",
		Twin:     "fdshare --model process",
		Expect:   "threads rise to what processes do with a finer table lock; a finer socket lock changes neither",
		Stop:     "each worker leaves after a whole operation; there is no other side",
		Targets:  []string{"descriptors", "subsystem"},
		Nulls:    []string{"socket", "scheduler"},
		Params: []Param{
			{Name: "table", Default: "change", Values: []string{"read", "change"}, Help: "change: each operation also duplicates and closes a descriptor"},
		},

		Wiring:     Self,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram", "pipe"},
		NoTransport: map[string]string{
			"tcp": "TCP has no socketpair; fanin over tcp has many threads on one table",
		},
		Addresses: []string{"socketpair", "pipe"},
		Model:     "thread",
		FDs:       func(record.Cell, string) int { return 1 },
		Setup: func(s *Seat) error {
			if err := setupSocket(s); err != nil {
				return err
			}
			if s.Param("table") == "change" {
				(*cycle)(s.state).how = 1
			}
			return nil
		},
		Client: writeReadDup,
		Check:  fitsBuffer,
	})
}

//go:nosplit
//go:norace
func writeReadDup(w *Worker) uintptr {
	if (*cycle)(w.state).how != 0 {
		fd, e := w.sys(unix.SYS_FCNTL, w.rfd, unix.F_DUPFD_CLOEXEC, 0, 0, 0)
		if e != 0 {
			return e
		}
		w.sys(unix.SYS_CLOSE, fd, 0, 0, 0, 0)
	}
	return writeThenRead(w)
}
