package pingpong

import (
	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Each worker makes a socket, has the kernel give it an abstract name, and
// closes it. Linux moves the socket between two buckets of its name table
// (unix_autobind takes both locks) and looks for a free number; up to 5.17 that
// was one global lock.
func init() {
	Register(Workload{
		Name:     "autobind",
		Isolates: "abstract names: Linux two name-table buckets at once (unix_autobind; one global lock up to 5.17); FreeBSD has none",
		Twin:     "churn",
		Expect:   "what it takes more than churn falls with finer name-table locks",
		Stop:     "each worker leaves after a whole cycle; there is no other side",
		Targets:  []string{"subsystem", "name"},
		Nulls:    []string{"socket", "scheduler"},

		Only:       "linux",
		Why:        "abstract names, and sockets that are given one, exist on Linux only; bindpath binds by path",
		Wiring:     Alone,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram"},
		NoTransport: map[string]string{
			"tcp":  "TCP has no abstract names; churn over tcp makes and closes sockets",
			"pipe": "a pipe has no name",
		},
		FDs: func(record.Cell, string) int { return 1 },
		Setup: func(s *Seat) error {
			if err := setupSocket(s); err != nil {
				return err
			}
			name, err := s.Bytes(16)
			if err != nil {
				return err
			}
			putFamily(name, 2, unix.AF_UNIX)
			c := (*cycle)(s.state)
			c.name, c.length = address(name), 2 // the family alone: the kernel finds a name (unix(7), Autobind)
			return nil
		},
		Client: bindAndClose,
	})
}

//go:nosplit
//go:norace
func bindAndClose(w *Worker) uintptr {
	c := (*cycle)(w.state)
	fd, e := w.sys(unix.SYS_SOCKET, c.domain, c.kind, 0, 0, 0)
	if e != 0 {
		return e
	}
	_, e = w.sys(unix.SYS_BIND, fd, c.name, c.length, 0, 0)
	w.sys(unix.SYS_CLOSE, fd, 0, 0, 0, 0)
	return e
}
