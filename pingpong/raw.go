package pingpong

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Everything here may run between entersyscall and exitsyscall.

// Codes that an operation returns beside the kernel's errno values (all under
// 4096).
const (
	failEOF   uintptr = 4096 + iota // the other end closed, at a message's boundary
	failShort                       // less than a message came or went
	failPair                        // the connection's index is not the one expected
	failSetup                       // before the timed loop; Slot.What says what
)

const atCWD = ^uintptr(-unix.AT_FDCWD - 1)

//go:nosplit
//go:norace
func rawClock(ts *unix.Timespec) {
	syscall.RawSyscall6(unix.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(ts)), 0, 0, 0, 0)
}

// sys is a system call that does not block: its result, or an errno.
//
//go:nosplit
//go:norace
func (w *Worker) sys(trap, a1, a2, a3, a4, a5 uintptr) (uintptr, uintptr) {
	if w.gio >= 0 {
		return goSys(trap, a1, a2, a3, a4, a5)
	}
	r, _, e := syscall.RawSyscall6(trap, a1, a2, a3, a4, a5, 0)
	return r, uintptr(e)
}

// receive is a system call that may block until the worker's end can be read:
// its result, or an errno. A goroutine waits in the poller. EINTR is retried
// and counted.
//
//go:nosplit
//go:norace
func (w *Worker) receive(trap, fd, a2, a3, a4 uintptr) (uintptr, uintptr) {
	if w.gio >= 0 {
		return w.goRead(trap, a2, a3, a4)
	}
	for {
		r, _, e := syscall.RawSyscall6(trap, fd, a2, a3, a4, 0, 0)
		if e != unix.EINTR {
			return r, uintptr(e)
		}
		w.slot.Errors[countEINTR]++
	}
}

// transmit is a system call of six arguments on a thread's own time: it may
// block. Goroutines have no use for it.
//
//go:nosplit
//go:norace
func (w *Worker) transmit(trap, fd, a2, a3, a4, a5, a6 uintptr) (uintptr, uintptr) {
	r, _, e := syscall.RawSyscall6(trap, fd, a2, a3, a4, a5, a6)
	return r, uintptr(e)
}

// read is read(2) of at most n bytes to p: the count, or an errno.
//
//go:nosplit
//go:norace
func (w *Worker) read(p unsafe.Pointer, n uintptr) (uintptr, uintptr) {
	return w.receive(unix.SYS_READ, w.rfd, uintptr(p), n, 0)
}

// write is write(2) of n bytes from p, or send(2) where that alone can end a
// record: the count, or an errno.
//
//go:nosplit
//go:norace
func (w *Worker) write(p unsafe.Pointer, n uintptr) (uintptr, uintptr) {
	for {
		var r, e uintptr
		if w.gio >= 0 {
			r, e = w.goWrite(p, n)
		} else {
			var errno syscall.Errno
			// write(2) takes no flags and looks at three of these.
			r, _, errno = syscall.RawSyscall6(w.writes, w.wfd, uintptr(p), n, w.flags, 0, 0)
			e = uintptr(errno)
		}
		switch {
		case e == 0:
			return r, 0
		case e == uintptr(unix.EINTR):
			w.slot.Errors[countEINTR]++
		case e == uintptr(unix.ENOBUFS) && w.retryFull && atomicPhase(w.ctl) < PhaseAbort:
			// A full AF_UNIX datagram receiver on FreeBSD, which Linux would wait for.
			w.slot.Errors[countENOBUFS]++
		default:
			return 0, e
		}
	}
}

// Send writes one message of n bytes from the worker's buffer: on a stream in
// as many writes as it takes, else in one.
//
//go:nosplit
//go:norace
func (w *Worker) Send(n uintptr) uintptr {
	r, e := w.write(w.buf, n)
	if r == n || e != 0 {
		return e
	}
	if !w.stream {
		return failShort
	}
	for done := r; done < n; done += r {
		if r, e = w.write(unsafe.Add(w.buf, done), n-done); e != 0 {
			return e
		}
	}
	return 0
}

// Recv reads one message of n bytes into the worker's buffer: on a stream in
// as many reads as it takes, else in one. An end of file at the boundary of a
// message is failEOF, which is no failure after stop.
//
//go:nosplit
//go:norace
func (w *Worker) Recv(n uintptr) uintptr {
	r, e := w.read(w.buf, n)
	if r == n || e != 0 {
		return e
	}
	if r == 0 {
		return failEOF
	}
	if !w.stream {
		return failShort
	}
	for done := r; done < n; done += r {
		if r, e = w.read(unsafe.Add(w.buf, done), n-done); e != 0 {
			return e
		}
		if r == 0 {
			return failShort
		}
	}
	return 0
}
