package bpf

import (
	"fmt"

	"golang.org/x/sys/unix"
)

var systemCalls = map[int32]string{
	unix.SYS_READ: "read", unix.SYS_WRITE: "write", unix.SYS_READV: "readv", unix.SYS_WRITEV: "writev",
	unix.SYS_SENDTO: "sendto", unix.SYS_RECVFROM: "recvfrom", unix.SYS_SENDMSG: "sendmsg", unix.SYS_RECVMSG: "recvmsg",
	unix.SYS_SENDMMSG: "sendmmsg", unix.SYS_RECVMMSG: "recvmmsg", unix.SYS_SPLICE: "splice",
	unix.SYS_SOCKET: "socket", unix.SYS_SOCKETPAIR: "socketpair", unix.SYS_BIND: "bind", unix.SYS_LISTEN: "listen",
	unix.SYS_CONNECT: "connect", unix.SYS_ACCEPT: "accept", unix.SYS_ACCEPT4: "accept4", unix.SYS_SHUTDOWN: "shutdown", unix.SYS_CLOSE: "close",
	unix.SYS_PPOLL: "ppoll", unix.SYS_PSELECT6: "pselect6", unix.SYS_EPOLL_PWAIT: "epoll_pwait", unix.SYS_EPOLL_CTL: "epoll_ctl",
	unix.SYS_FUTEX: "futex", unix.SYS_SCHED_YIELD: "sched_yield", unix.SYS_NANOSLEEP: "nanosleep", unix.SYS_CLOCK_NANOSLEEP: "clock_nanosleep",
	unix.SYS_OPENAT: "openat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_PREAD64: "pread64", unix.SYS_DUP3: "dup3", unix.SYS_PIPE2: "pipe2",
	unix.SYS_MMAP: "mmap", unix.SYS_MUNMAP: "munmap", unix.SYS_MPROTECT: "mprotect", unix.SYS_MADVISE: "madvise",
	unix.SYS_WAIT4: "wait4", unix.SYS_WAITID: "waitid", unix.SYS_EXIT: "exit", unix.SYS_EXIT_GROUP: "exit_group", unix.SYS_CLONE: "clone",
	unix.SYS_RT_SIGTIMEDWAIT: "rt_sigtimedwait", unix.SYS_RT_SIGSUSPEND: "rt_sigsuspend", unix.SYS_TGKILL: "tgkill",
}

// SystemCall names system call number n of this architecture, as "read()".
func SystemCall(n int32) string {
	if n < 0 {
		return "(no system call)"
	}
	if name, ok := systemCalls[n]; ok {
		return name + "()"
	}
	return fmt.Sprintf("system call %d", n)
}
