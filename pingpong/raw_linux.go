package pingpong

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
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

// pipeBuf is PIPE_BUF of limits.h: so much goes into a pipe whole.
const pipeBuf = 4096

// fillsUp says that what is written to a nearly full socket goes in as far as
// there is room. Here a message goes in whole, as one skb, or waits.
const fillsUp = false

// perSocket is how many messages of perMessage descriptors a socket holds.
const perSocket = 64

// fullRefuses says that connect(2) is refused by an AF_UNIX listener whose
// backlog is full. Here it waits (unix_stream_connect).
const fullRefuses = false

// shutdownWakesAll says that the shutdown of a listener ends every accept on it.
const shutdownWakesAll = true

// drained is true: a shutdown leaves to be read what is queued.
func drained(int) bool { return true }

// closeDrops says that the close of a datagram sender can drop what it has sent.
const closeDrops = false

// recordFlag is what a seqpacket sender must say for its message to be a record
// of its own: here each message is one, and comes whole (unix(7)).
const recordFlag = 0

const bufferSysctl = "net.core.wmem_default"

// A socket buffer is given twice what is asked for, since the kernel's own
// bookkeeping counts against it too, and no more than the limits allow
// (sock_setsockopt in net/core/sock.c, socket(7)).
const (
	bufferFactor  = 2
	sendSysctl    = "net.core.wmem_max"
	receiveSysctl = "net.core.rmem_max"
	backlogSysctl = "net.core.somaxconn"
)

// leastBuffer is the smallest buffer that takes a datagram of n bytes: any, since
// the kernel rounds buffers up, and one that is longer is told of by EMSGSIZE.
func leastBuffer(int) int { return 1 }

// backlogOf is what a backlog of n that listen(2) was given comes to: no socket
// option tells it for AF_UNIX, but the limit is known; 0 where it cannot be read.
func backlogOf(_, n int) int64 {
	text, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	most, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		return 0
	}
	return int64(min(n, most))
}

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
