package pingpong

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Each worker makes a socket and closes it, over and over. On Linux a socket
// goes into one of the 512 buckets of its name table by its address
// (unix_create1, unix_release_sock): one global lock up to 5.17, next to
// nothing to wait for since. On FreeBSD attach and detach still take
// unp_link_rwlock for writing. Workers that are threads also share one
// descriptor table (Linux files->file_lock in alloc_fd and file_close_fd,
// FreeBSD filedesc), which processes do not: the gap between the two is that
// table's.
func init() {
	Register(Workload{
		Name:     "churn",
		Isolates: "creation and end of sockets: Linux name-table buckets (one global lock up to 5.17), FreeBSD unp_link_rwlock; with --model thread the descriptor table too",
		Twin:     "churn --transport pipe; churn --model process: of threads, which share a descriptor table",
		Expect:   "processes scale with finer subsystem locks; threads stay bound by the descriptor table",
		Stop:     "each worker leaves after a whole cycle; there is no other side",
		Targets:  []string{"subsystem", "descriptors"},
		Nulls:    []string{"socket", "scheduler"},

		Wiring:     Alone,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "pipe"},
		FDs:        func(record.Cell, string) int { return 2 },
		Setup:      setupSocket,
		Client:     makeAndClose,
	})
}

// cycle is what steps need that make sockets.
type cycle struct {
	domain, kind uintptr // domain 0: a pipe
	name, length uintptr // to bind it to
	path         uintptr // to unlink
	how          uintptr
	fds          [2]int32
}

func setupSocket(s *Seat) error {
	p, err := s.Memory(unsafe.Sizeof(cycle{}))
	if err != nil {
		return err
	}
	c := (*cycle)(p)
	s.state = p
	if s.Cell.Transport != "pipe" {
		domain, kind := socketKind(s.Cell.Transport, s.Cell.Address)
		c.domain, c.kind = uintptr(domain), uintptr(kind|unix.SOCK_CLOEXEC)
	}
	return nil
}

//go:nosplit
//go:norace
func makeAndClose(w *Worker) uintptr {
	c := (*cycle)(w.state)
	if c.domain == 0 {
		if _, e := w.sys(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&c.fds)), unix.O_CLOEXEC, 0, 0, 0); e != 0 {
			return e
		}
		w.sys(unix.SYS_CLOSE, uintptr(c.fds[0]), 0, 0, 0, 0)
		_, e := w.sys(unix.SYS_CLOSE, uintptr(c.fds[1]), 0, 0, 0, 0)
		return e
	}
	fd, e := w.sys(unix.SYS_SOCKET, c.domain, c.kind, 0, 0, 0)
	if e != 0 {
		return e
	}
	_, e = w.sys(unix.SYS_CLOSE, fd, 0, 0, 0, 0)
	return e
}
