package pingpong

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// End is one end of a connection: the descriptor that is read and the one that
// is written. They are the same for a socket.
type End struct{ R, W int }

// Close closes both descriptors of the end.
func (e End) Close() { closeAll(e.R, e.W) }

func closeAll(fds ...int) {
	for i, fd := range fds {
		if i > 0 && fd == fds[i-1] {
			continue
		}
		unix.Close(fd)
	}
}

// openPair makes two connected ends: socketpair(2), or two pipes.
func openPair(transport string) (a, b End, err error) {
	if transport == "pipe" {
		var down, up [2]int
		if err = unix.Pipe2(down[:], unix.O_CLOEXEC); err != nil {
			return
		}
		if err = unix.Pipe2(up[:], unix.O_CLOEXEC); err != nil {
			closeAll(down[0], down[1])
			return
		}
		return End{R: up[0], W: down[1]}, End{R: down[0], W: up[1]}, nil
	}
	_, kind := socketKind(transport, "")
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	return End{fds[0], fds[0]}, End{fds[1], fds[1]}, err
}

// OpenLink makes one connection in the coordinator, for the wirings and
// addresses whose ends are inherited: client's end first.
func OpenLink(c record.Cell, dir string) (client, server End, err error) {
	if c.Address == "socketpair" || c.Address == "pipe" {
		return openPair(c.Transport)
	}
	if c.Transport == "unix-dgram" {
		return openDatagrams(c, dir)
	}
	l, port, err := listen(c, dir, "shared", minBacklog)
	if err != nil {
		return
	}
	defer unix.Close(l)
	fd, err := dial(c, dir, "shared", port)
	if err != nil {
		return
	}
	peer, err := accept(l)
	if err != nil {
		unix.Close(fd)
		return
	}
	setNoDelay(c.Transport, peer)
	return End{fd, fd}, End{peer, peer}, nil
}

// openDatagrams makes two bound datagram sockets, each connected to the other.
func openDatagrams(c record.Cell, dir string) (a, b End, err error) {
	fa, err := bind(c, dir, "a")
	if err != nil {
		return
	}
	fb, err := bind(c, dir, "b")
	if err == nil {
		if err = connect(fa, sockaddr(c, dir, "b", 0)); err == nil {
			err = connect(fb, sockaddr(c, dir, "a", 0))
		}
		if err != nil {
			unix.Close(fb)
		}
	}
	if err != nil {
		unix.Close(fa)
	}
	return End{fa, fa}, End{fb, fb}, err
}

func socketKind(transport, address string) (domain, kind int) {
	switch transport {
	case "unix-seqpacket":
		return unix.AF_UNIX, unix.SOCK_SEQPACKET
	case "unix-dgram":
		return unix.AF_UNIX, unix.SOCK_DGRAM
	case "tcp":
		if address == "inet6" {
			return unix.AF_INET6, unix.SOCK_STREAM
		}
		return unix.AF_INET, unix.SOCK_STREAM
	}
	return unix.AF_UNIX, unix.SOCK_STREAM
}

// sockaddr names a meeting point: a socket file in the run's private
// directory, the same name in Linux's abstract space, or a loopback port.
func sockaddr(c record.Cell, dir, name string, port int) unix.Sockaddr {
	switch c.Address {
	case "inet":
		return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	case "inet6":
		return &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	case "abstract":
		return &unix.SockaddrUnix{Name: "@" + dir + "/" + name} // x/sys turns the @ into NUL
	}
	return &unix.SockaddrUnix{Name: dir + "/" + name}
}

func newSocket(c record.Cell) (int, error) {
	domain, kind := socketKind(c.Transport, c.Address)
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	setNoDelay(c.Transport, fd)
	return fd, nil
}

func setNoDelay(transport string, fd int) {
	if transport == "tcp" {
		// Without it a small request waits for the ACK of the one before (Nagle).
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
}

// bind makes a socket and gives it its name.
func bind(c record.Cell, dir, name string) (int, error) {
	fd, err := newSocket(c)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, sockaddr(c, dir, name, 0)); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("bind", err)
	}
	return fd, nil
}

// minBacklog is the backlog where nothing hangs on it.
const minBacklog = 16

// Backlog is what a listener of the cell asks for in listen(2): room for every
// client that may meet at it at once, or what the parameter of that name says.
func Backlog(c record.Cell) int {
	if n := number(c, "backlog"); n != 0 {
		return n
	}
	if w, err := Lookup(c.Workload); err == nil && w.OneListener {
		return max(c.Parallel, minBacklog)
	}
	return minBacklog
}

// listen makes a listener with a backlog of n and returns its port where it has
// one. The kernel cuts the backlog at its own limit (net.core.somaxconn,
// kern.ipc.soacceptqueue), above which connecting clients wait or are refused.
func listen(c record.Cell, dir, name string, n int) (fd, port int, err error) {
	if fd, err = bind(c, dir, name); err != nil {
		return
	}
	if err = unix.Listen(fd, n); err != nil {
		unix.Close(fd)
		return -1, 0, os.NewSyscallError("listen", err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		unix.Close(fd)
		return -1, 0, os.NewSyscallError("getsockname", err)
	}
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		port = a.Port
	case *unix.SockaddrInet6:
		port = a.Port
	}
	return fd, port, nil
}

func dial(c record.Cell, dir, name string, port int) (int, error) {
	fd, err := newSocket(c)
	if err != nil {
		return -1, err
	}
	if err := connect(fd, sockaddr(c, dir, name, port)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func connect(fd int, sa unix.Sockaddr) error {
	return os.NewSyscallError("connect", ignoringEINTR(func() error { return unix.Connect(fd, sa) }))
}

// refusedWhenFull reports whether a connect that gave err is to be tried again:
// the listener is there, so that it was refused for want of room.
func refusedWhenFull(transport string, err error) bool {
	return fullRefuses && strings.HasPrefix(transport, "unix-") && errors.Is(err, unix.ECONNREFUSED)
}

func accept(l int) (fd int, err error) {
	err = ignoringEINTR(func() error {
		fd, _, err = unix.Accept4(l, unix.SOCK_CLOEXEC)
		return err
	})
	return fd, os.NewSyscallError("accept", err)
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

// sendIndex tells the other end which client this is.
func sendIndex(fd, index int) error {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(index))
	return ignoringEINTR(func() error {
		n, err := unix.Write(fd, b[:])
		if err == nil && n != len(b) {
			err = fmt.Errorf("index: wrote %d of %d bytes", n, len(b))
		}
		return os.NewSyscallError("write", err)
	})
}

// receiveIndex reads what sendIndex sent. On a datagram socket it also
// connects to where it came from, so that the reply finds its way.
func receiveIndex(fd int, answer bool) (index int, err error) {
	var b [4]byte
	var n int
	var from unix.Sockaddr
	err = ignoringEINTR(func() error {
		if answer {
			n, from, err = unix.Recvfrom(fd, b[:], 0)
		} else {
			n, err = unix.Read(fd, b[:])
		}
		return err
	})
	if err != nil {
		return 0, os.NewSyscallError("read", err)
	}
	if n != len(b) {
		return 0, fmt.Errorf("index: %d of %d bytes came; the client has gone", n, len(b))
	}
	if answer {
		if err := connect(fd, from); err != nil {
			return 0, err
		}
	}
	return int(binary.LittleEndian.Uint32(b[:])), nil
}
