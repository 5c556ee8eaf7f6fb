package pingpong

// N independent pairs, each with a connection of its own; a client writes a
// request and blocks in read until the reply has come. No socket lock is
// shared between pairs, so what it measures is the wake-up path and the
// scheduler: run-queue locks (Linux try_to_wake_up, __schedule; FreeBSD sched
// lock, sleepq chain) and the two copies.
func init() {
	Register(Workload{
		Name:     "pingpong",
		Isolates: "wake-up path and scheduler: run-queue locks; no socket lock is shared between pairs",
		Twin:     "pingpong --transport pipe",
		Expect:   "unchanged by a finer socket lock, but for its uncontended cost; moves with a subsystem-wide one",
		Stop:     "clients leave after a whole round trip and close; servers read the end of file (datagram: are woken by a shutdown of their own socket)",
		Targets:  []string{"subsystem", "scheduler"},
		Nulls:    []string{"socket"},

		Wiring:     Pairs,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "pipe"},
		Operation:  RoundTrip,
		Client:     requestReply,
		Server:     replyToRequest,
	})
}

//go:nosplit
//go:norace
func requestReply(w *Worker) uintptr {
	if e := w.Send(w.Request); e != 0 {
		return e
	}
	return w.Recv(w.Response)
}

//go:nosplit
//go:norace
func replyToRequest(w *Worker) uintptr {
	if e := w.Recv(w.Request); e != 0 {
		return e
	}
	return w.Send(w.Response)
}
