package pingpong

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Each worker sends itself a message and receives it, with the sender's
// credentials (Linux SO_PASSCRED, FreeBSD LOCAL_CREDS_PERSISTENT) or without.
// On Linux each message then takes and drops references to the sender's struct
// pid and credentials: a cache line that all threads of a process, the default
// model here, have in common. No lock is taken and no lock event is seen; the
// gap between off and on at N > 1 is all there is to see.
func init() {
	Register(Workload{
		Name:     "cred",
		Isolates: "credentials with each message: Linux reference counts of struct pid and cred, a shared cache line without a lock; FreeBSD a control message made for each",
		Twin:     "cred --param passcred=off",
		Expect:   "the gap to passcred=off at N > 1 closes with cheaper references; no lock event on any kernel",
		Stop:     "each worker leaves after a whole cycle; there is no other side",
		Targets:  []string{"credentials"},
		Nulls:    []string{"socket", "scheduler", "subsystem"},
		Params: []Param{
			{Name: "passcred", Default: "on", Values: []string{"on", "off"}, Help: "whether the receiver asks for the sender's credentials"},
		},

		Wiring:      Self,
		Operation:   Cycle,
		Transports:  []string{"unix-stream", "unix-seqpacket", "unix-dgram"},
		NoTransport: onlyUnix("credentials"),
		Addresses:   []string{"socketpair"},
		Model:       "thread",
		Setup: func(s *Seat) error {
			if s.Param("passcred") == "on" {
				if err := passCredentials(int(s.rfd)); err != nil {
					return err
				}
			}
			_, err := setupAncillary(s, nil)
			return err
		},
		Client: passMessage,
		Check:  fitsBuffer,
	})
}

//go:nosplit
//go:norace
func passMessage(w *Worker) uintptr {
	a := (*ancillary)(w.state)
	if e := w.Send(w.Request); e != 0 {
		return e
	}
	a.in.Controllen = controlBuffer
	n, e := w.receive(unix.SYS_RECVMSG, w.rfd, uintptr(unsafe.Pointer(&a.in)), 0, 0)
	if e == 0 && n != w.Request {
		e = failShort
	}
	return e
}
