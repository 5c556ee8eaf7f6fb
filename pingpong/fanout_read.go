package pingpong

// One writer, N readers on one socket, nothing comes back. On Linux a reader
// holds the socket's iolock while it copies (unix_stream_read_generic,
// __unix_dgram_recvmsg) and takes its state lock and receive queue's lock, and
// all sleep on one wait queue (prepare_to_wait). On FreeBSD readers queue for
// so_rcv_sx. Over a pipe the same shape stands on pipe->mutex alone. The readers
// are the clients: N of them are active at once, and theirs are the operations.
func init() {
	Register(Workload{
		Name:     "fanout-read",
		Isolates: "readers of one socket: Linux iolock, state lock, receive queue and wait queue; FreeBSD so_rcv_sx",
		Twin:     "fanout-read --transport pipe",
		Expect:   "rises at N > 1 with a finer lock on the receiving side only",
		Stop:     "readers leave after a whole message and close; the writer is told by EPIPE (datagram: ECONNREFUSED) when the last has closed",
		Targets:  []string{"socket"},
		Nulls:    nil,

		Wiring:       Shared,
		Operation:    Message,
		ReadersLeave: true,
		Transports:   []string{"unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "pipe"},
		Client:       receiveOne,
		Server:       sendOne,
	})
}
