package pingpong

import "syscall"

// CLOCK_MONOTONIC of sys/_clock_id.h.
const clockMonotonic = 4

const (
	rusageThread = 1   // RUSAGE_THREAD of sys/resource.h
	sysPread     = 475 // pread(2); no schedstat exists here to be read by it
)

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
