package pingpong

// N writers on one connection, one reader, nothing comes back. On Linux every
// write takes the state lock of the reader's socket (unix_stream_sendmsg) and
// its receive queue's; on FreeBSD the writers queue for the one so_snd_sx and
// for the peer's so_rcv mutex. Over a pipe the same shape stands on
// pipe->mutex alone.
func init() {
	Register(Workload{
		Name:     "fanin-shared",
		Isolates: "per-socket lock from many senders: Linux peer unix_state_lock, FreeBSD so_snd_sx and the peer's so_rcv",
		Twin:     "fanin-shared --transport pipe",
		Expect:   "rises at N > 1 with a finer per-socket lock only",
		Stop:     "writers leave after a whole message and close; the reader drains and reads the end of file when the last has closed",
		Targets:  []string{"socket"},
		Nulls:    nil,

		Wiring:     Shared,
		Operation:  Message,
		Transports: []string{"unix-stream", "unix-seqpacket", "tcp", "pipe"},
		NoTransport: map[string]string{
			"unix-dgram": "writers on one datagram socket meet the sender's locks, not a stream's; fanin-dgram has N senders to one receiver",
		},
		OneServerProcess: true,
		Client:           sendOne,
		Server:           receiveOne,
	})
}

//go:nosplit
//go:norace
func sendOne(w *Worker) uintptr { return w.Send(w.Request) }

//go:nosplit
//go:norace
func receiveOne(w *Worker) uintptr { return w.Recv(w.Request) }
