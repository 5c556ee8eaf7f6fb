package pingpong

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Each worker makes a socket, binds it to a path of its own, closes it and
// removes the name. Names in one directory meet at that directory's inode lock
// and dentries (Linux kern_path_create and vfs_unlink, FreeBSD the directory's
// vnode lock), names anywhere at the table of bound sockets (Linux
// bsd_socket_locks, by inode; FreeBSD unp_link_rwlock). With as many
// directories as workers the first is out of the way; with object=file, which
// makes and removes plain files, the second.
func init() {
	Register(Workload{
		Name:     "bindpath",
		Isolates: "path names: parent directory's inode lock (VFS), and Linux bsd_socket_locks, FreeBSD unp_link_rwlock",
		Twin:     "bindpath --param object=file: the directory alone; bindpath --param directories=100: the names alone",
		Expect:   "with one directory bound by the file system; with many, rises with finer name locks",
		Stop:     "each worker leaves after a whole cycle; there is no other side",
		Targets:  []string{"name", "subsystem"},
		Nulls:    []string{"socket", "scheduler"},
		Params: []Param{
			{Name: "directories", Default: "1", Min: 1, Max: 10000, Help: "that the names lie in, worker by worker in turn"},
			{Name: "object", Default: "socket", Values: []string{"socket", "file"}, Help: "what gets the name: file is the file system alone"},
		},

		Wiring:     Alone,
		Operation:  Cycle,
		Transports: []string{"unix-stream", "unix-seqpacket", "unix-dgram"},
		NoTransport: map[string]string{
			"tcp":  "TCP has no path names; churn over tcp makes and closes sockets",
			"pipe": "a pipe has no name",
		},
		FDs: func(record.Cell, string) int { return 1 },
		Setup: func(s *Seat) error {
			if err := setupSocket(s); err != nil {
				return err
			}
			dir := fmt.Sprintf("%s/%d", s.Dir, s.Index%s.Number("directories"))
			if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
				return err
			}
			name := fmt.Sprintf("%s/w%d", dir, s.Index)
			path, err := s.Bytes(len(name) + 1)
			if err != nil {
				return err
			}
			copy(path, name)
			c := (*cycle)(s.state)
			c.path = address(path)
			if s.Param("object") == "socket" {
				c.name, c.length, err = s.Sockaddr(&unix.SockaddrUnix{Name: name})
			}
			return err
		},
		Client: bindAndUnlink,
	})
}

//go:nosplit
//go:norace
func bindAndUnlink(w *Worker) uintptr {
	c := (*cycle)(w.state)
	var fd, e uintptr
	if c.name == 0 {
		fd, e = w.sys(unix.SYS_OPENAT, atCWD, c.path, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o600, 0)
	} else {
		fd, e = w.sys(unix.SYS_SOCKET, c.domain, c.kind, 0, 0, 0)
		if e == 0 {
			_, e = w.sys(unix.SYS_BIND, fd, c.name, c.length, 0, 0)
		}
	}
	if e != 0 {
		return e
	}
	w.sys(unix.SYS_CLOSE, fd, 0, 0, 0, 0)
	_, e = w.sys(unix.SYS_UNLINKAT, atCWD, c.path, 0, 0, 0)
	return e
}
