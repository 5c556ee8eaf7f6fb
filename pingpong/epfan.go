package pingpong

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// N clients, one server process, a few waiters on one readiness queue that
// holds all connections: a request wakes one waiter, who reads it and replies.
// On Linux every request takes ep->lock in the sender's own system call
// (ep_poll_callback) and again in epoll_wait, beside ep->mtx; on FreeBSD
// the kqueue's and the knote's locks. Connections are watched edge-triggered, so
// that one request is one waiter's; on FreeBSD it wakes all of them, and the others
// find nothing and sleep on (kqueue_wakeup in sys/kern/kern_event.c).
func init() {
	Register(Workload{
		Name:     "epfan",
		Isolates: "readiness queue: Linux ep->lock (ep_poll_callback, epoll_wait) and ep->mtx, FreeBSD kqueue and knote locks",
		Twin:     "fanin",
		Expect:   "the gap to fanin closes with a finer queue lock; it moved both ways when ep->lock was a rwlock from 2019 to 2025",
		Stop:     "clients leave after a whole round trip and close; when all have left an idle thread writes to a pipe that wakes every waiter",
		Targets:  []string{"readiness"},
		Nulls:    []string{"socket"},
		Params: []Param{
			{Name: "waiters", Default: "1", Min: 1, Max: 64, Help: "threads that wait on the one queue"},
		},

		Wiring:     Fan,
		Operation:  RoundTrip,
		Transports: []string{"unix-stream", "unix-seqpacket", "tcp"},
		NoTransport: map[string]string{
			"unix-dgram": "a datagram socket accepts no connections; fanin-dgram has the fan-in of datagrams",
			"pipe":       "a pipe has no listener to meet at; pingpong over pipe has its wake-ups",
		},
		Addresses:        []string{"path", "abstract", "inet", "inet6"},
		OneServerProcess: true,
		OneListener:      true,
		IdleServers:      true,
		ServerModel:      "thread",
		NoServerModel: map[string]string{
			"goroutine": "a goroutine's poller is itself such a queue; fanin with --server-model goroutine measures that one",
		},
		Servers: func(c record.Cell) int { return max(number(c, "waiters"), 1) },
		FDs: func(c record.Cell, role string) int {
			if role == record.Client {
				return 0
			}
			return c.Parallel/max(number(c, "waiters"), 1) + 4 // all connections, shared out, and the queue
		},
		Check: func(c record.Cell) error {
			const whole = 4096
			if c.Params["waiters"] != "1" && c.Request > whole {
				return fmt.Errorf("request %d: with more than one waiter, two could read parts of one message; make it %d or smaller, or use waiters=1", c.Request, whole)
			}
			return nil
		},
		Setup:  setupQueue,
		Client: requestReply,
		Server: serveReady,
	})
}

// setupQueue has the first waiter accept all connections into a queue, which
// the others then take.
func setupQueue(s *Seat) error {
	if s.Role == record.Client {
		return nil
	}
	shared, err := s.Together(func() (any, error) {
		var wake [2]int
		if err := unix.Pipe2(wake[:], unix.O_CLOEXEC); err != nil {
			return nil, os.NewSyscallError("pipe", err)
		}
		q, err := newQueue()
		if err != nil {
			return nil, err
		}
		if err := q.add(wake[0], false); err != nil {
			return nil, err
		}
		for range s.Cell.Parallel {
			fd, err := accept(int(s.rfd))
			if err != nil {
				return nil, err
			}
			setNoDelay(s.Cell.Transport, fd)
			if err := q.add(fd, true); err != nil {
				return nil, fmt.Errorf("connection into the queue: %w", err)
			}
		}
		q.wake = wake[0]
		s.AtEnd(func() { unix.Write(wake[1], []byte{0}) })
		return q, nil
	})
	if err != nil {
		return err
	}
	return s.takeQueue(*shared.(*queue))
}

// serveReady waits for a connection that has a request, and answers it.
//
//go:nosplit
//go:norace
func serveReady(w *Worker) uintptr {
	for {
		fd, e := w.ready()
		if e != 0 {
			return e
		}
		n, e := w.sys(unix.SYS_RECVFROM, fd, uintptr(w.buf), w.Request, unix.MSG_DONTWAIT, 0)
		for e == uintptr(unix.EINTR) { // at once: edge-triggered, the request is not told of again
			w.slot.Errors[countEINTR]++
			n, e = w.sys(unix.SYS_RECVFROM, fd, uintptr(w.buf), w.Request, unix.MSG_DONTWAIT, 0)
		}
		switch {
		case e == uintptr(unix.EAGAIN):
			w.slot.Errors[countEAGAIN]++
			continue
		case e == uintptr(unix.ECONNRESET) || e == 0 && n == 0:
			if atomicPhase(w.ctl) < PhaseStop {
				return failEOF
			}
			continue // the client has left; edge-triggered, it is not told again
		case e != 0:
			return e
		}
		w.rfd, w.wfd = fd, fd
		if n < w.Request {
			if e := w.Recv(w.Request - n); e != 0 {
				return e
			}
		}
		return w.Send(w.Response)
	}
}
