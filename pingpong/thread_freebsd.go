package pingpong

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadID is thr_self(2).
func threadID() int {
	var id int64 // long
	syscall.Syscall(unix.SYS_THR_SELF, uintptr(unsafe.Pointer(&id)), 0, 0)
	return int(id)
}

// fineTimers has nothing to set here: kern.timecounter.alloweddeviation holds for
// the whole system.
func fineTimers() {}

// openSchedstat has nothing to open here: FreeBSD keeps no run-queue delay by thread.
func openSchedstat(slot *Slot) int32 {
	slot.StatErrno = int32(unix.ENOSYS)
	return -1
}

// migrations is -1: FreeBSD does not count them by thread.
func migrations() int64 { return -1 }
