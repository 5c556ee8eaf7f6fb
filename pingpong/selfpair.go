package pingpong

// Each worker writes a message into one end of its own socketpair and reads it
// from the other: nobody sleeps, nobody is woken, no scheduler. It is no
// exchange between processes. What it shows is a lock that all sockets of the
// system share: FreeBSD's unp_link_rwlock up to r333744; Linux has had none on
// this path since 5.17, so there it scales with the CPUs.
func init() {
	Register(Workload{
		Name:     "selfpair",
		Isolates: "a lock of the whole subsystem, without the scheduler: FreeBSD unp_link_rwlock up to r333744; none on Linux since 5.17",
		Twin:     "selfpair --transport pipe",
		Expect:   "near-linear up to the number of CPUs; the same at 1",
		Stop:     "each worker leaves after a whole operation; there is no other side",
		Targets:  []string{"subsystem"},
		Nulls:    []string{"socket", "scheduler"},

		Wiring:     Self,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram", "pipe"},
		NoTransport: map[string]string{
			"tcp": "TCP has no socketpair; pingpong over tcp is its exchange between two ends",
		},
		Addresses: []string{"socketpair", "pipe"},
		Client:    writeThenRead,
		Check:     fitsBuffer,
	})
}

//go:nosplit
//go:norace
func writeThenRead(w *Worker) uintptr {
	if e := w.Send(w.Request); e != 0 {
		return e
	}
	return w.Recv(w.Request)
}
