package pingpong

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// N pairs; the sender writes as fast as it may, the receiver peeks over up to
// depth messages and then reads one. On a Linux stream MSG_PEEK drops and takes
// the state lock again for every message that it passes
// (unix_stream_read_generic), against the sender, who takes the same lock for
// every message that it queues. On FreeBSD a peek walks the receive buffer under
// so_rcv, from 15 on once, and copies under so_rcv_sx, which no sender takes
// (uipc_soreceive_stream_or_seqpacket).
func init() {
	Register(Workload{
		Name:     "peek",
		Isolates: "state lock taken again for each message that MSG_PEEK passes: Linux unix_stream_read_generic against unix_stream_sendmsg, FreeBSD so_rcv",
		Twin:     "peek --param depth=0: which takes the same lock, once a message; peek --transport tcp: which has no such lock",
		Expect:   "the gap to depth=0 closes with a cheaper walk of the queue; N is of no matter, pairs share nothing",
		Stop:     "senders leave after a whole message and shut down; receivers drain and read the end of file",
		Targets:  []string{"socket"},
		Nulls:    []string{"subsystem"},
		Params: []Param{
			{Name: "depth", Default: "64", DefaultOver: map[string]string{"unix-seqpacket": "1", "unix-dgram": "1"}, Values: []string{"0"}, Min: 1, Max: 1024,
				Help: "messages that a peek may pass over, one where a transport keeps messages apart; 0: no peek"},
		},

		Wiring:     Pairs,
		Operation:  Message,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram", "tcp"},
		NoTransport: map[string]string{
			"pipe": "a pipe cannot be peeked into",
		},
		Setup:  setupPeek,
		Client: sendOne,
		Server: peekThenReceive,
		Check: func(c record.Cell) error {
			n := number(c, "depth")
			if n > 1 && !isStream(c.Transport) {
				return fmt.Errorf("param depth=%d: %s keeps messages apart, and a peek sees the first of them alone; use depth=1 or 0, or unix-stream", n, c.Transport)
			}
			if n > 1 && n*c.Request > 16*maxStream {
				return fmt.Errorf("depth %d of %d bytes: a peek takes at most 16 MiB", n, c.Request)
			}
			return nil
		},
	})
}

type peek struct{ buf, length uintptr }

func setupPeek(s *Seat) error {
	p, err := s.Memory(unsafe.Sizeof(peek{}))
	if err != nil || s.Role == record.Client {
		return err
	}
	s.state = p
	if depth := s.Number("depth"); depth > 0 {
		b, err := s.Bytes(depth * s.Cell.Request)
		if err != nil {
			return err
		}
		*(*peek)(p) = peek{address(b), uintptr(len(b))}
	}
	return nil
}

//go:nosplit
//go:norace
func peekThenReceive(w *Worker) uintptr {
	if p := (*peek)(w.state); p.length != 0 {
		n, e := w.receive(unix.SYS_RECVFROM, w.rfd, p.buf, p.length, unix.MSG_PEEK)
		if e != 0 {
			return e
		}
		if n == 0 {
			return failEOF
		}
	}
	return w.Recv(w.Request)
}
