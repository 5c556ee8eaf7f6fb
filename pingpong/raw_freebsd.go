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

// pipeBuf is PIPE_BUF of sys/syslimits.h: so much goes into a pipe whole.
const pipeBuf = 512

// fillsUp says that what is written to a nearly full socket goes in as far as
// there is room (uipc_sosend_stream_or_seqpacket in sys/kern/uipc_usrreq.c).
const fillsUp = true

// perSocket is how many messages of perMessage descriptors a socket holds: they
// count as 8 bytes each against net.local.stream.recvspace, 65536 by default.
const perSocket = 16

// fullRefuses says that connect(2) is refused by an AF_UNIX listener whose
// backlog is full (unp_connectat in sys/kern/uipc_usrreq.c).
const fullRefuses = true

// shutdownWakesAll says that the shutdown of a listener ends every accept on it.
// Here it wakes one, which takes the error away (solisten_wakeup and
// solisten_dequeue in sys/kern/uipc_socket.c).
const shutdownWakesAll = false

const fionread = 0x4004667f // FIONREAD of sys/filio.h, _IOR('f', 127, int)

// drained reports whether nothing is left to be read from a datagram socket: a
// shutdown throws away what is queued (unp_dispose in sys/kern/uipc_usrreq.c).
func drained(fd int) bool {
	n, err := unix.IoctlGetInt(fd, fionread)
	return err != nil || n <= 0
}

// closeDrops says that the close of a datagram sender can drop what it has sent:
// that lies in a buffer of its own on the receiver, and is kept only where the
// receiver's other one is empty (unp_disconnect in sys/kern/uipc_usrreq.c).
const closeDrops = true

// recordFlag is what a seqpacket sender must say for its message to be a record
// of its own. From FreeBSD 15 on a seqpacket socket is a stream with record
// marks, which write(2) cannot set, and a record that meets a full buffer comes
// in parts (socket(2); uipc_sosend_stream_or_seqpacket in sys/kern/uipc_usrreq.c).
const recordFlag = unix.MSG_EOR

const bufferSysctl = "net.local.dgram.maxdgram or net.local.seqpacket.maxseqpacket"

// A socket buffer is what is asked for; over the limit, setsockopt(2) fails
// (sbreserve_locked in sys/kern/uipc_sockbuf.c).
const (
	bufferFactor  = 1
	sendSysctl    = "kern.ipc.maxsockbuf"
	receiveSysctl = sendSysctl
	backlogSysctl = "kern.ipc.soacceptqueue"
)

// leastBuffer is the smallest buffer that takes a datagram of n bytes: its
// sender's name, of at most 106 bytes, counts too, and one that does not fit into
// an empty buffer is refused for ever as if the receiver were full
// (uipc_sosend_dgram in sys/kern/uipc_usrreq.c).
func leastBuffer(n int) int { return n + 106 }

const listenQLimit = 0x1011 // SO_LISTENQLIMIT of sys/socket.h

// backlogOf is the backlog of a listener, as the kernel cut it (solisten_proto in
// sys/kern/uipc_socket.c); 0 where it cannot be read.
func backlogOf(fd, _ int) int64 {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, listenQLimit)
	if err != nil {
		return 0
	}
	return int64(n)
}

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
