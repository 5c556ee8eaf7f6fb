package pingpong

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Each worker sends itself a message that carries a descriptor, receives it
// and closes what came. Where the descriptor is of an AF_UNIX socket, Linux
// takes the global unix_gc_lock on both ways (unix_add_edges, unix_del_edges)
// and FreeBSD counts it under its link lock for the collector (unp_internalize_fp,
// unp_externalize_fp, unp_gc). A descriptor of /dev/null takes the same way without
// either: that is the twin, but for FreeBSD and for Linux since 6.10, which take the
// lock for any descriptor to count it; there the gap between the two is what the
// collector is told, and a message without a descriptor (pass=nothing) is the twin. With inflight many more AF_UNIX descriptors lie in sockets all the
// while, which made every send wait for the collector on Linux before 6.8: pass=nothing
// shows what they cost others.
func init() {
	Register(Workload{
		Name:     "rights",
		Isolates: "passing of AF_UNIX descriptors: Linux the global unix_gc_lock, FreeBSD unp_link_rwlock",
		Twin:     "rights --param pass=null; rights --param pass=nothing: on FreeBSD, and on Linux since 6.10, which take the lock for any descriptor",
		Expect:   "the gap to the twin at N > 1 closes with a finer collector lock; inflight=32768 costs nothing where sends do not wait for it",
		Stop:     "each worker leaves after a whole cycle; there is no other side",
		Targets:  []string{"subsystem"},
		Nulls:    []string{"socket", "scheduler"},
		Params: []Param{
			{Name: "pass", Default: "socket", Values: []string{"socket", "null", "nothing"}, Help: "descriptor in each message: of an AF_UNIX socket, of /dev/null, or none"},
			{Name: "inflight", Default: "0", Values: []string{"0"}, Min: 1, Max: 1 << 20, Help: "AF_UNIX descriptors that lie in sockets meanwhile, all workers together"},
		},

		Wiring:      Self,
		Operation:   Cycle,
		Request:     1,
		Transports:  []string{"unix-dgram", "unix-stream", "unix-seqpacket"},
		NoTransport: onlyUnix("descriptors"),
		Addresses:   []string{"socketpair"},
		FDs: func(c record.Cell, _ string) int {
			// One to pass, one that comes, and pairs with messages in flight.
			return 4 + 2*(number(c, "inflight")/c.Parallel/(perMessage*perSocket)+1)
		},
		Setup:  setupRights,
		Client: passRights,
		Check:  fitsBuffer,
	})
}

// onlyUnix says why the transports that are not AF_UNIX cannot carry what.
func onlyUnix(what string) map[string]string {
	return map[string]string{
		"tcp":  "TCP carries no " + what + "; AF_UNIX sockets do",
		"pipe": "a pipe carries no " + what + "; AF_UNIX sockets do",
	}
}

// A control message holds one descriptor in 4 bytes behind its header, which
// takes 16 on 64-bit systems (CMSG_DATA of Linux and FreeBSD).
const (
	controlBuffer = 64
	controlData   = 16
)

// How descriptors in flight are laid: so many in a message (Linux takes 253,
// SCM_MAX_FD; FreeBSD what fits a cluster of 2048 bytes at 8 each), perSocket
// messages in a socket.
const perMessage = 250

// flightPatience is for how many ns a message that is one descriptor too many in
// flight is sent again before the run fails.
const flightPatience = int64(5e9)

// ancillary is what steps need that send and receive control messages.
type ancillary struct {
	out, in unix.Msghdr
	iov     unix.Iovec
	control [controlBuffer]byte
	got     [controlBuffer]byte
}

// setupAncillary lays the messages of request bytes; rights is what goes out
// with them, or nil.
func setupAncillary(s *Seat, rights []byte) (*ancillary, error) {
	p, err := s.Memory(unsafe.Sizeof(ancillary{}))
	if err != nil {
		return nil, err
	}
	a := (*ancillary)(p)
	s.state = p
	a.iov.Base = (*byte)(s.buf)
	a.iov.SetLen(int(s.Request))
	a.out.Iov, a.in.Iov = &a.iov, &a.iov
	a.out.SetIovlen(1)
	a.in.SetIovlen(1)
	a.in.Control = &a.got[0]
	if rights != nil {
		copy(a.control[:], rights)
		a.out.Control = &a.control[0]
		a.out.SetControllen(len(rights))
	}
	return a, nil
}

func setupRights(s *Seat) error {
	var rights []byte
	switch s.Param("pass") {
	case "socket":
		_, kind := socketKind(s.Cell.Transport, "")
		fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		rights = unix.UnixRights(fd)
	case "null":
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		rights = unix.UnixRights(fd)
	}
	if _, err := setupAncillary(s, rights); err != nil {
		return err
	}
	return fillFlight(s)
}

// fillFlight leaves this worker's share of AF_UNIX descriptors lying in
// sockets.
func fillFlight(s *Seat) error {
	all := s.Number("inflight")
	share := all/s.Cell.Parallel + min(max(all%s.Cell.Parallel-s.Index, 0), 1)
	if share == 0 {
		return nil
	}
	one, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(one)
	to := -1
	for i, done := 0, 0; done < share; i++ {
		if i%perSocket == 0 {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("in flight after %d descriptors: %w", done, err)
			}
			to = pair[0]
			if err := unix.SetNonblock(to, true); err != nil {
				return err
			}
		}
		n := min(perMessage, share-done)
		fds := make([]int, n)
		for j := range fds {
			fds[j] = one
		}
		if err := unix.Sendmsg(to, []byte{0}, unix.UnixRights(fds...), nil, 0); err != nil {
			return fmt.Errorf("in flight after %d of this worker's %d descriptors: %w; lower --param inflight or raise the limit of open files, which is the kernel's limit for these too", done, share, err)
		}
		done += n
	}
	return nil
}

//go:nosplit
//go:norace
func passRights(w *Worker) uintptr {
	a := (*ancillary)(w.state)
	n, e := w.sys(unix.SYS_SENDMSG, w.wfd, uintptr(unsafe.Pointer(&a.out)), w.flags, 0, 0)
	// As many are in flight as may be: others take theirs out again, or it is
	// what lies there for good.
	for first := int64(0); e == uintptr(unix.ETOOMANYREFS) && atomicPhase(w.ctl) < PhaseAbort; {
		w.slot.Errors[countETOOMANYREFS]++
		now := nanotime()
		if first == 0 {
			first = now
		}
		if now-first > flightPatience {
			break
		}
		w.sys(unix.SYS_SCHED_YIELD, 0, 0, 0, 0, 0)
		n, e = w.sys(unix.SYS_SENDMSG, w.wfd, uintptr(unsafe.Pointer(&a.out)), w.flags, 0, 0)
	}
	if e == 0 && n != w.Request {
		e = failShort
	}
	if e != 0 {
		return e
	}
	a.in.Controllen = controlBuffer
	n, e = w.receive(unix.SYS_RECVMSG, w.rfd, uintptr(unsafe.Pointer(&a.in)), unix.MSG_CMSG_CLOEXEC, 0)
	switch {
	case e != 0:
		return e
	case n != w.Request:
		return failShort
	case a.out.Controllen == 0:
		return 0
	case a.in.Flags&unix.MSG_CTRUNC != 0:
		return uintptr(unix.EMFILE) // the message came without its descriptor: no room in the table
	}
	fd := *(*int32)(unsafe.Pointer(&a.got[controlData]))
	_, e = w.sys(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0)
	return e
}
