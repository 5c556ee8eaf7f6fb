package pingpong

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Goroutine workers (M:N) read and write through the runtime's poller: a call
// that would block answers EAGAIN, which is counted, and the goroutine is
// parked until the poller finds the descriptor ready. Each EAGAIN therefore
// stands for a wasted call and a share of an epoll_wait (kevent), the price of
// the model.

// gio is what a goroutine worker needs beside its Worker; it lives on the Go
// heap, in a table, since Workers do not.
type gio struct {
	r, w        syscall.RawConn
	read, write func(uintptr) bool
	p           unsafe.Pointer
	n           uintptr
	count       uintptr
	errno       syscall.Errno
}

var gios []*gio

// newGio puts the descriptors of an end under the poller. Both files stay open
// until the process ends.
func newGio(e End, ctl *Control, slot *Slot) (*gio, error) {
	conn := func(fd int) (syscall.RawConn, error) {
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), "socket").SyscallConn()
	}
	g := new(gio)
	var err error
	if g.r, err = conn(e.R); err != nil {
		return nil, err
	}
	g.w = g.r
	if e.W != e.R {
		if g.w, err = conn(e.W); err != nil {
			return nil, err
		}
	}
	try := func(trap uintptr) func(uintptr) bool {
		return func(fd uintptr) bool {
			for {
				g.count, _, g.errno = syscall.Syscall(trap, fd, uintptr(g.p), g.n)
				switch g.errno {
				case unix.EINTR:
					slot.Errors[countEINTR]++
					continue
				case unix.EAGAIN:
					if trap == unix.SYS_READ && atomicPhase(ctl) >= PhaseLeft {
						// A non-blocking datagram read after a shutdown of its own
						// socket answers EAGAIN, not the end of file (unix_dgram_recvmsg).
						g.count, g.errno = 0, 0
						return true
					}
					slot.Errors[countEAGAIN]++
					return false
				}
				return true
			}
		}
	}
	g.read, g.write = try(unix.SYS_READ), try(unix.SYS_WRITE)
	return g, nil
}

func (w *Worker) goRead(p unsafe.Pointer, n uintptr) (uintptr, uintptr) {
	g := gios[w.gio]
	g.p, g.n = p, n
	if err := g.r.Read(g.read); err != nil {
		return 0, uintptr(unix.EBADF)
	}
	return g.count, uintptr(g.errno)
}

func (w *Worker) goWrite(p unsafe.Pointer, n uintptr) (uintptr, uintptr) {
	g := gios[w.gio]
	g.p, g.n = p, n
	if err := g.w.Write(g.write); err != nil {
		return 0, uintptr(unix.EBADF)
	}
	return g.count, uintptr(g.errno)
}
