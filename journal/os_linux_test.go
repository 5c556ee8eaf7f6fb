package journal

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func nobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func setLimit(l *unix.Rlimit, n uint64) { l.Cur = n }
