package pingpong

import (
	"fmt"

	"udsbench/record"
)

// N pairs; the sender writes large messages as fast as the receiver takes them,
// so that the buffer is full and the sender sleeps for room (Linux
// sock_alloc_send_pskb on sk_wmem_alloc, with the slab's node lists between the
// sender's CPU and the receiver's; FreeBSD the peer's so_rcv, or sbwait). The
// result is bytes a second: copying, memory allocation and wake-ups for room.
func init() {
	Register(Workload{
		Name:     "bulk",
		Isolates: "full buffers: Linux sk_wmem_alloc sleep, slab node lists and copies, FreeBSD so_rcv and sbwait",
		Twin:     "bulk --transport pipe",
		Expect:   "bytes a second move with allocation and copying, not with a finer state lock",
		Stop:     "senders leave after a whole message and shut down; receivers drain and read the end of file",
		Targets:  []string{"memory"},
		Nulls:    []string{"socket"},
		Params:   []Param{bufferParam},

		Wiring:     Pairs,
		Operation:  Message,
		Request:    65536,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "pipe"},
		Setup:      setupBulk,
		Client:     sendOne,
		Server:     receiveOne,
		Check:      buffersApply,
	})
}

func setupBulk(s *Seat) error { return s.SetBuffers() }

// buffersApply refuses socket buffers where there is no socket.
func buffersApply(c record.Cell) error {
	if c.Transport == "pipe" && c.Params["buffer"] != bufferParam.Default {
		return fmt.Errorf("param buffer=%s: a pipe has no socket buffers; leave it out", c.Params["buffer"])
	}
	return nil
}
