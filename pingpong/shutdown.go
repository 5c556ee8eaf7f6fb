package pingpong

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// N workers shut down one end of a connection that all of them hold, over and
// over: no data, no descriptor, nothing but the locks that shutdown takes. On
// Linux these are the state locks of the socket and of its peer, one after the
// other (unix_shutdown); on FreeBSD the mutexes of the socket, of its pcb and of
// both buffers (uipc_shutdown, socantsendmore), and for a direction that is read
// unp_link_rwlock, the whole subsystem's, as well (unp_dispose). With socket=own
// each worker has a connection to itself.
func init() {
	Register(Workload{
		Name:     "shutdown",
		Isolates: "state change of one socket: Linux unix_state_lock of it and of its peer, FreeBSD the mutexes of socket, pcb and buffers; with how=read or both unp_link_rwlock too",
		Twin:     "shutdown --param socket=own",
		Expect:   "N > 1 rises with a finer lock on the socket; socket=own scales as it did",
		Stop:     "each worker leaves after a whole operation; there is no other side",
		Targets:  []string{"socket"},
		Nulls:    []string{"scheduler"},
		Params: []Param{
			{Name: "socket", Default: "shared", Values: []string{"shared", "own"}, Help: "one connection for all workers, or one each"},
			{Name: "how", Default: "write", Values: []string{"read", "write", "both"}, Help: "direction that is shut down"},
		},

		Wiring:     Shared,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram"},
		NoTransport: map[string]string{
			"tcp":  "a TCP connection that was shut down ends, and refuses the next shutdown",
			"pipe": "a pipe has no shutdown",
		},
		Addresses: []string{"socketpair"},
		Servers:   func(record.Cell) int { return 0 },
		FDs:       func(record.Cell, string) int { return 2 },
		Setup:     setupShutdown,
		Client:    shutdownAgain,
	})
}

func setupShutdown(s *Seat) error {
	p, err := s.Memory(unsafe.Sizeof(cycle{}))
	if err != nil {
		return err
	}
	c := (*cycle)(p)
	s.state = p
	c.how = map[string]uintptr{"read": unix.SHUT_RD, "write": unix.SHUT_WR, "both": unix.SHUT_RDWR}[s.Param("how")]
	if s.Param("socket") == "own" {
		a, _, err := openPair(s.Cell.Transport)
		s.wfd = uintptr(a.W)
		return err
	}
	return nil
}

//go:nosplit
//go:norace
func shutdownAgain(w *Worker) uintptr {
	c := (*cycle)(w.state)
	_, e := w.sys(unix.SYS_SHUTDOWN, w.wfd, c.how, 0, 0, 0)
	return e
}
