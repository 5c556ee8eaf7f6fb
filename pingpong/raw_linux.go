package pingpong

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const clockMonotonic = unix.CLOCK_MONOTONIC

const (
	rusageThread = unix.RUSAGE_THREAD
	sysPread     = unix.SYS_PREAD64
)

// poll(2) without a timeout; ppoll is what all architectures have.
const (
	sysPoll     = unix.SYS_PPOLL
	pollForever = 0
)

// putFamily writes the head of a sockaddr of n bytes.
func putFamily(b []byte, n int, family uint16) { binary.NativeEndian.PutUint16(b, family) }

const bufferSysctl = "net.core.wmem_default"

// rawCPU is the CPU that the calling thread runs on (getcpu(2)), or -1.
//
//go:nosplit
//go:norace
func rawCPU() int32 {
	var cpu uint32
	if _, _, e := syscall.RawSyscall6(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0, 0, 0, 0); e != 0 {
		return -1
	}
	return int32(cpu)
}
