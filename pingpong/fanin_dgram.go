package pingpong

// N senders, each with a connected socket of its own, to one bound datagram
// socket. On Linux every send takes the receiver's state lock and its receive
// queue's lock, and waits on its peer_wait queue when it is full
// (unix_dgram_sendmsg, skb_queue_tail, unix_wait_for_peer); on FreeBSD each
// connection has a buffer of its own on the receiver, and a full one answers
// ENOBUFS. With a slow reader the receiver is always full, and what is seen is
// how senders wait for it and how room is shared among them: the record has
// their fairness, and the messages that never arrived.
func init() {
	Register(Workload{
		Name:     "fanin-dgram",
		Isolates: "datagram receiver: Linux its unix_state_lock, receive queue lock and peer_wait, FreeBSD its per-connection buffers",
		Twin:     "pingpong --transport unix-dgram",
		Expect:   "rises at N > 1 with a finer lock on the receiver; a slow reader's pace bounds it, and fairness among senders tells",
		Stop:     "senders leave after a whole message; the receiver drains until all have left, then its own idle thread shuts its socket down",
		Targets:  []string{"socket"},
		Nulls:    nil,
		Params:   append([]Param{fullParam(), bufferParam}, readerParams...),

		Wiring:     Bound,
		Operation:  Message,
		Transports: []string{"unix-dgram"},
		NoTransport: map[string]string{
			"unix-stream":    "a stream has no bound receiver of many; fanin-shared has many writers on one stream",
			"unix-seqpacket": "a seqpacket socket has no bound receiver of many; fanin-shared has many writers on one connection",
			"tcp":            "TCP has no datagrams; fanin-shared has many writers on one connection",
			"pipe":           "a pipe has no datagrams; fanin-shared over pipe has many writers on one pipe",
		},
		Addresses:        []string{"path", "abstract"},
		OneServerProcess: true,
		Spins:            true,
		Setup:            setupDatagram,
		Client:           sendDatagram,
		Server:           receiveDatagram,
		Check:            checkFull,
	})
}
