package affinity

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func threadID() int {
	var id int
	unix.RawSyscall(unix.SYS_THR_SELF, uintptr(unsafe.Pointer(&id)), 0, 0)
	return id
}
