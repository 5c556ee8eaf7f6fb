package bpf

import "golang.org/x/sys/unix"

// What newer architectures have only in the forms with a time-out and a mask.
func init() {
	for n, name := range map[int32]string{
		unix.SYS_POLL: "poll", unix.SYS_SELECT: "select", unix.SYS_EPOLL_WAIT: "epoll_wait", unix.SYS_OPEN: "open",
		unix.SYS_UNLINK: "unlink", unix.SYS_PAUSE: "pause", unix.SYS_DUP2: "dup2", unix.SYS_PIPE: "pipe", unix.SYS_FORK: "fork", unix.SYS_VFORK: "vfork",
	} {
		systemCalls[n] = name
	}
}
