package pingpong

import (
	"os"
	"runtime"
	"syscall"
	"time"
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
	trap        uintptr // the call to be made
	a2, a3, a4  uintptr // and its arguments behind the descriptor
	result      uintptr
	errno       syscall.Errno
}

var gios []*gio

// newGio puts the descriptors of an end under the poller. Both files stay open
// until the process ends.
func newGio(e End, datagram bool, ctl *Control, slot *Slot) (*gio, error) {
	conn := func(fd int) (syscall.RawConn, error) {
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), "socket").SyscallConn()
	}
	// A datagram socket and a listener that are shut down answer EAGAIN where a
	// stream tells its end.
	listening, _ := unix.GetsockoptInt(e.R, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	endless := datagram || listening != 0
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
	try := func(reads bool) func(uintptr) bool {
		return func(fd uintptr) bool {
			for {
				g.result, _, g.errno = syscall.Syscall6(g.trap, fd, g.a2, g.a3, g.a4, 0, 0)
				switch g.errno {
				case unix.EINTR:
					slot.Errors[countEINTR]++
					continue
				case unix.EAGAIN:
					if endless && reads && atomicPhase(ctl) >= PhaseLeft {
						// A non-blocking datagram read after a shutdown of its own
						// socket answers EAGAIN, not the end of file (unix_dgram_recvmsg).
						g.result, g.errno = 0, 0
						return true
					}
					slot.Errors[countEAGAIN]++
					return false
				}
				return true
			}
		}
	}
	g.read, g.write = try(true), try(false)
	return g, nil
}

func (w *Worker) goRead(trap, a2, a3, a4 uintptr) (uintptr, uintptr) {
	g := gios[w.gio]
	g.trap, g.a2, g.a3, g.a4 = trap, a2, a3, a4
	if err := g.r.Read(g.read); err != nil {
		return 0, uintptr(unix.EBADF)
	}
	return g.result, uintptr(g.errno)
}

func (w *Worker) goWrite(p unsafe.Pointer, n uintptr) (uintptr, uintptr) {
	g := gios[w.gio]
	g.trap, g.a2, g.a3, g.a4 = w.writes, uintptr(p), n, w.flags
	if err := g.w.Write(g.write); err != nil {
		return 0, uintptr(unix.EBADF)
	}
	if g.errno == unix.ENOBUFS {
		runtime.Gosched() // no poller tells of room in a FreeBSD datagram receiver
	}
	return g.result, uintptr(g.errno)
}

// goSys is a system call that does not block, as ordinary Go makes it. Inlined
// it would bring entersyscall's frames into the timed path's own few bytes.
//
//go:noinline
func goSys(trap, a1, a2, a3, a4, a5 uintptr) (uintptr, uintptr) {
	r, _, e := syscall.Syscall6(trap, a1, a2, a3, a4, a5, 0)
	return r, uintptr(e)
}

// goSleepUntil sleeps until CLOCK_MONOTONIC is t.
func goSleepUntil(t int64) { time.Sleep(time.Duration(t - nanotime())) }
