package pingpong

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// struct kevent of sys/event.h from FreeBSD 12 on, which system call 560 takes.
const _ = uint(unsafe.Sizeof(unix.Kevent_t{})-64) + uint(64-unsafe.Sizeof(unix.Kevent_t{}))

// queue is a kqueue, and the pipe that ends the waiting.
type queue struct{ fd, wake int }

func newQueue() (*queue, error) {
	fd, err := unix.Kqueue()
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return &queue{fd: fd}, os.NewSyscallError("kqueue", err)
}

// add watches fd for what can be read: once for each arrival, or while it lasts.
func (q *queue) add(fd int, edge bool) error {
	ev := unix.Kevent_t{Ident: uint64(fd), Filter: unix.EVFILT_READ, Flags: unix.EV_ADD}
	if edge {
		ev.Flags |= unix.EV_CLEAR
	}
	_, err := unix.Kevent(q.fd, []unix.Kevent_t{ev}, nil, nil)
	return os.NewSyscallError("kevent", err)
}

// waiter is what a waiter's step needs.
type waiter struct {
	event    unix.Kevent_t
	fd, wake uintptr
}

func (s *Seat) takeQueue(q queue) error {
	p, err := s.Memory(unsafe.Sizeof(waiter{}))
	if err != nil {
		return err
	}
	*(*waiter)(p) = waiter{fd: uintptr(q.fd), wake: uintptr(q.wake)}
	s.state = p
	return nil
}

// ready waits for one connection that can be read.
//
//go:nosplit
//go:norace
func (w *Worker) ready() (fd, errno uintptr) {
	q := (*waiter)(w.state)
	for {
		_, e := w.transmit(unix.SYS_KEVENT, q.fd, 0, 0, uintptr(unsafe.Pointer(&q.event)), 1, 0)
		switch {
		case e == uintptr(unix.EINTR):
			w.slot.Errors[countEINTR]++
			continue
		case e == 0 && uintptr(q.event.Ident) == q.wake:
			e = failEOF
		}
		return uintptr(q.event.Ident), e
	}
}
