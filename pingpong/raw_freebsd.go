package pingpong

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// CLOCK_MONOTONIC of sys/_clock_id.h.
const clockMonotonic = 4

const (
	rusageThread = 1   // RUSAGE_THREAD of sys/resource.h
	sysPread     = 475 // pread(2); no schedstat exists here to be read by it
)

// poll(2) without a timeout.
const (
	sysPoll     = unix.SYS_POLL
	pollForever = ^uintptr(0) // INFTIM
)

// putFamily writes the head of a sockaddr of n bytes.
func putFamily(b []byte, n int, family uint16) { b[0], b[1] = byte(n), byte(family) }

const bufferSysctl = "net.local.dgram.maxdgram or net.local.seqpacket.maxseqpacket"

const sysSchedGetcpu = 581 // sched_getcpu(2), FreeBSD 13.1

// rawCPU is the CPU that the calling thread runs on, or -1.
//
//go:nosplit
//go:norace
func rawCPU() int32 {
	cpu, _, e := syscall.RawSyscall6(sysSchedGetcpu, 0, 0, 0, 0, 0, 0)
	if e != 0 {
		return -1
	}
	return int32(cpu)
}
