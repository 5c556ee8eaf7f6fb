package pingpong

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// queue is an epoll instance, and the pipe that ends the waiting.
type queue struct{ fd, wake int }

func newQueue() (*queue, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &queue{fd: fd}, os.NewSyscallError("epoll_create1", err)
}

// add watches fd for what can be read: once for each arrival, or while it lasts.
func (q *queue) add(fd int, edge bool) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if edge {
		ev.Events |= unix.EPOLLET
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(q.fd, unix.EPOLL_CTL_ADD, fd, &ev))
}

// waiter is what a waiter's step needs.
type waiter struct {
	event    unix.EpollEvent
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
		_, e := w.sys(unix.SYS_EPOLL_PWAIT, q.fd, uintptr(unsafe.Pointer(&q.event)), 1, ^uintptr(0), 0)
		switch {
		case e == uintptr(unix.EINTR):
			w.slot.Errors[countEINTR]++
			continue
		case e == 0 && uintptr(q.event.Fd) == q.wake:
			e = failEOF
		}
		return uintptr(q.event.Fd), e
	}
}
