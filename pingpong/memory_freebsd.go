package pingpong

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From sys/umtx.h: operations without _PRIVATE work between processes.
const (
	sysUmtxOp      = 454 // _umtx_op(2)
	umtxOpWaitUint = 11
	umtxOpWake     = 3

	sysShmOpen2 = 571 // shm_open2(2), FreeBSD 13
	shmAnon     = 1   // SHM_ANON of sys/mman.h
)

// waitWord blocks while *word is val, for at most ns nanoseconds.
func waitWord(word *uint32, val uint32, ns int64) {
	// The 4th argument, uaddr, is the size of what uaddr2 points to. A plain
	// timespec would be of CLOCK_REALTIME, which can be stepped.
	ut := umtxTime{timeout: unix.NsecToTimespec(ns), clock: clockMonotonic}
	entersyscallblock()
	syscall.RawSyscall6(sysUmtxOp, uintptr(unsafe.Pointer(word)), umtxOpWaitUint, uintptr(val),
		unsafe.Sizeof(ut), uintptr(unsafe.Pointer(&ut)), 0)
	exitsyscall()
}

// rawWaitWord blocks while *word is val. It may be called inside the timed loop,
// on a thread that holds no P.
//
//go:nosplit
//go:norace
func rawWaitWord(word *uint32, val uint32) {
	syscall.RawSyscall6(sysUmtxOp, uintptr(unsafe.Pointer(word)), umtxOpWaitUint, uintptr(val), 0, 0, 0)
}

// umtxTime is struct _umtx_time of sys/umtx.h.
type umtxTime struct {
	timeout unix.Timespec
	flags   uint32
	clock   uint32
}

// It compiles only where the struct has the kernel's size.
const _ = uint(unsafe.Sizeof(umtxTime{})-24) + uint(24-unsafe.Sizeof(umtxTime{}))

const umtxAbsTime = 1 // UMTX_ABSTIME

// rawWaitUntil blocks while *word is val, until CLOCK_MONOTONIC is t. It may be
// called inside the timed loop.
//
//go:nosplit
//go:norace
func rawWaitUntil(word *uint32, val uint32, t int64) {
	ut := umtxTime{unix.Timespec{Sec: t / 1e9, Nsec: t % 1e9}, umtxAbsTime, clockMonotonic}
	syscall.RawSyscall6(sysUmtxOp, uintptr(unsafe.Pointer(word)), umtxOpWaitUint, uintptr(val),
		unsafe.Sizeof(ut), uintptr(unsafe.Pointer(&ut)), 0)
}

// rawWakeOne wakes one who waits on word. It may be called inside the timed loop.
//
//go:nosplit
//go:norace
func rawWakeOne(word *uint32) {
	syscall.RawSyscall6(sysUmtxOp, uintptr(unsafe.Pointer(word)), umtxOpWake, 1, 0, 0, 0)
}

// wakeAll wakes all who wait on word.
func wakeAll(word *uint32) {
	syscall.Syscall6(sysUmtxOp, uintptr(unsafe.Pointer(word)), umtxOpWake, 1<<31-1, 0, 0, 0)
}

// NewMemoryFile makes the memory object under the mapping, size bytes long,
// closed on exec.
func NewMemoryFile(size int64) (int, error) {
	fd, _, e := syscall.Syscall6(sysShmOpen2, shmAnon, unix.O_RDWR|unix.O_CLOEXEC, 0600, 0, 0, 0)
	if e != 0 {
		return -1, e
	}
	if err := unix.Ftruncate(int(fd), size); err != nil {
		unix.Close(int(fd))
		return -1, err
	}
	return int(fd), nil
}
