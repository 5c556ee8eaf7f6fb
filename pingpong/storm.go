package pingpong

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// N clients make a socket, connect and close, against a few acceptors on one
// listener. On Linux connect takes the listener's state lock and then its own
// (unix_stream_connect), puts the new socket on the listener's receive queue,
// and waits on peer_wait where the backlog is full; accept wakes it. On FreeBSD
// the listener's mutex and the link lock take the same part, and a full backlog
// refuses: the client yields and tries again until it is let in, which counts as
// ECONNREFUSED. The time until connect(2) has succeeded is the result; the rate
// is of whole cycles. Over TCP a cycle also waits for the acceptor to close.
func init() {
	Register(Workload{
		Name:     "storm",
		Isolates: "listener: Linux its state lock, receive queue lock and peer_wait, and name lookup; FreeBSD the listener's mutex and unp_link_rwlock",
		Twin:     "storm --transport tcp",
		Expect:   "connect latency at N > 1 falls with a finer lock on the listener; it does not fall by more acceptors alone",
		Stop:     "clients leave after a whole cycle; acceptors take what is queued, then an idle thread shuts the listener down",
		Targets:  []string{"socket", "subsystem", "name"},
		Nulls:    nil,
		Params: []Param{
			{Name: "acceptors", Default: "1", Min: 1, Max: 64, Help: "threads that accept from the one listener"},
			{Name: "backlog", Default: "128", Min: 1, Max: 65535, Help: "of listen(2); the record has what took effect, since the kernel cuts it at its limit (net.core.somaxconn, kern.ipc.soacceptqueue)"},
		},

		Wiring:     Fan,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "tcp"},
		NoTransport: map[string]string{
			"unix-dgram": "a datagram socket has no listener; sendto names its receiver each time",
			"pipe":       "a pipe has no listener; churn over pipe makes and closes pipes",
		},
		Addresses:        []string{"path", "abstract", "inet", "inet6"},
		OneServerProcess: true,
		OneListener:      true,
		Unconnected:      true,
		IdleServers:      true,
		Times:            "connect(2)",
		ServerModel:      "thread",
		NoModel: map[string]string{
			"goroutine": "a non-blocking connect to a full AF_UNIX backlog fails at once, and no poller tells when to try again; use thread",
		},
		Servers: func(c record.Cell) int { return max(number(c, "acceptors"), 1) },
		FDs:     func(record.Cell, string) int { return 1 },
		Setup:   setupStorm,
		Client:  connectAndClose,
		Server:  acceptAndClose,
	})
}

// storm is what a client's step needs.
type storm struct {
	domain, kind uintptr
	to, toLen    uintptr
	waits        bool // for the acceptor to close first
	byte         [8]byte
}

func setupStorm(s *Seat) error {
	// A TCP connection that its client closes before it is accepted stays in the
	// queue, and a full queue drops the next for a second. There the acceptor
	// closes first, by a reset, so that no port is left waiting (TIME_WAIT).
	tcp := s.Cell.Transport == "tcp"
	if s.Role == record.Server {
		s.process.wakeAcceptor(int(s.rfd))
		if tcp { // accepted sockets have it from the listener
			return unix.SetsockoptLinger(int(s.rfd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		}
		return nil
	}
	p, err := s.Memory(unsafe.Sizeof(storm{}))
	if err != nil {
		return err
	}
	st := (*storm)(p)
	s.state = p
	domain, kind := socketKind(s.Cell.Transport, s.Cell.Address)
	st.domain, st.kind = uintptr(domain), uintptr(kind|unix.SOCK_CLOEXEC)
	st.waits = tcp
	st.to, st.toLen, err = s.Sockaddr(s.Server())
	return err
}

//go:nosplit
//go:norace
func connectAndClose(w *Worker) uintptr {
	s := (*storm)(w.state)
	fd, e := w.sys(unix.SYS_SOCKET, s.domain, s.kind, 0, 0, 0)
	if e != 0 {
		return e
	}
	t := w.mark()
	for {
		_, e = w.sys(unix.SYS_CONNECT, fd, s.to, s.toLen, 0, 0)
		if e == uintptr(unix.EINTR) {
			w.slot.Errors[countEINTR]++
		} else if fullRefuses && e == uintptr(unix.ECONNREFUSED) && !s.waits && atomicPhase(w.ctl) < PhaseAbort {
			w.slot.Errors[countECONNREFUSED]++ // a full backlog, which Linux would wait for
			w.sys(unix.SYS_SCHED_YIELD, 0, 0, 0, 0, 0)
		} else {
			break
		}
	}
	w.took(t)
	if s.waits {
		if e == 0 {
			w.receive(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&s.byte)), 1, 0)
		} else if e == uintptr(unix.ECONNRESET) {
			e = 0 // accepted and closed before connect could return
		}
	}
	w.sys(unix.SYS_CLOSE, fd, 0, 0, 0, 0)
	return e
}

//go:nosplit
//go:norace
func acceptAndClose(w *Worker) uintptr {
	for {
		fd, e := w.receive(unix.SYS_ACCEPT4, w.rfd, 0, 0, unix.SOCK_CLOEXEC)
		switch {
		case e == 0 && w.gio >= 0 && fd == 0:
			return failEOF // the poller's way to say that the listener is shut down
		case e == 0:
			_, e = w.sys(unix.SYS_CLOSE, fd, 0, 0, 0, 0)
			return e
		case atomicPhase(w.ctl) >= PhaseLeft:
			return failEOF
		case syscall.Errno(e) != unix.ECONNABORTED: // its client has gone already
			return e
		}
	}
}
