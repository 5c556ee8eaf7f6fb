package pingpong

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0 // FUTEX_WAIT, not private: the word is shared between processes (futex(2))
	futexWake = 1

	futexWaitBitset = 9
	futexAnyBit     = 1<<32 - 1
)

// waitWord blocks while *word is val, for at most ns nanoseconds.
func waitWord(word *uint32, val uint32, ns int64) {
	ts := unix.NsecToTimespec(ns)
	entersyscallblock()
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(val), uintptr(unsafe.Pointer(&ts)), 0, 0)
	exitsyscall()
}

// rawWaitWord blocks while *word is val. It may be called inside the timed loop,
// on a thread that holds no P.
//
//go:nosplit
//go:norace
func rawWaitWord(word *uint32, val uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(val), 0, 0, 0)
}

// rawWaitUntil blocks while *word is val, until CLOCK_MONOTONIC is t. It may be
// called inside the timed loop.
//
//go:nosplit
//go:norace
func rawWaitUntil(word *uint32, val uint32, t int64) {
	ts := unix.Timespec{Sec: t / 1e9, Nsec: t % 1e9}
	// FUTEX_WAIT_BITSET takes an absolute time.
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWaitBitset, uintptr(val), uintptr(unsafe.Pointer(&ts)), 0, futexAnyBit)
}

// rawWakeOne wakes one who waits on word. It may be called inside the timed loop.
//
//go:nosplit
//go:norace
func rawWakeOne(word *uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}

// wakeAll wakes all who wait on word.
func wakeAll(word *uint32) {
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<31-1, 0, 0, 0)
}

// NewMemoryFile makes the memory object under the mapping, size bytes long,
// closed on exec.
func NewMemoryFile(size int64) (int, error) {
	fd, err := unix.MemfdCreate("udsbench", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
