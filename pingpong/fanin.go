package pingpong

// N clients and one server process with a thread a connection, as a database
// server has: all connections are accepted from one listener, and all the
// server's descriptors stand in one table. The sockets are still one a client;
// what is shared is the server's process: its descriptor table (Linux
// files_struct, FreeBSD filedesc), its address space, its place in the
// scheduler.
func init() {
	Register(Workload{
		Name:     "fanin",
		Isolates: "one server process: its descriptor table, its address space, and the wake-ups of many clients of it",
		Twin:     "pingpong",
		Expect:   "as pingpong, unless the patch touches what threads of one process share",
		Stop:     "clients leave after a whole round trip and close; server threads read the end of file",
		Targets:  []string{"subsystem", "scheduler", "descriptors"},
		Nulls:    []string{"socket"},

		Wiring:     Pairs,
		Transports: []string{"unix-stream", "unix-seqpacket", "tcp"},
		NoTransport: map[string]string{
			"unix-dgram": "a datagram socket accepts no connections; fanin-dgram has the fan-in of datagrams",
			"pipe":       "a pipe has no listener to meet at; pingpong over pipe with --server-model thread has the same shape",
		},
		Addresses:        []string{"path", "abstract", "inet", "inet6"},
		OneServerProcess: true,
		OneListener:      true,
		ServerModel:      "thread",
		Operation:        RoundTrip,
		Client:           requestReply,
		Server:           replyToRequest,
	})
}
