package pingpong

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// What a datagram sender does about a full receiver: --full. Linux waits where
// the send blocks; FreeBSD answers ENOBUFS, so that there is nothing to wait by.
const (
	fullBlock = iota
	fullRetry
	fullYield
	fullPoll
)

var fullNames = []string{"block", "retry", "yield", "poll"}

func fullParam() Param {
	p := Param{Name: "full", Default: "block", Values: fullNames,
		Help: "on a full receiver: block in the kernel (Linux), retry at once, yield the CPU first, or poll for room; tries are counted as EAGAIN or ENOBUFS"}
	if runtime.GOOS != "linux" {
		p.Default, p.Values = "retry", fullNames[1:]
	}
	return p
}

const slowReaderNS = 10_000

// readerParams are the receiver's pace.
var readerParams = []Param{
	{Name: "reader", Default: "fast", Values: []string{"fast", "slow"}, Min: 1, Max: 1e9,
		Help: "CPU work of the receiver on each message: none, 10 µs so that it is always full, or a number of ns"},
}

func checkFull(c record.Cell) error {
	if full := c.Params["full"]; c.Model == "goroutine" && full != fullParam().Default {
		return fmt.Errorf("full %s: a goroutine waits in its poller; leave --full out, or use --model thread", full)
	}
	return nil
}

// datagram is what a datagram sender's or receiver's step needs.
type datagram struct {
	full  int
	to    uintptr // sockaddr of the receiver; 0 connected
	toLen uintptr
	poll  unix.PollFd
	work  uint64 // turns of spin of a slow receiver on each message
}

func setupDatagram(s *Seat) error {
	if err := s.SetBuffers(); err != nil {
		return err
	}
	p, err := s.Memory(unsafe.Sizeof(datagram{}))
	if err != nil {
		return err
	}
	d := (*datagram)(p)
	s.state = p
	if s.Role == record.Server {
		switch pace := s.Param("reader"); pace {
		case "fast":
		case "slow":
			d.work = s.Spins(slowReaderNS)
		default:
			d.work = s.Spins(int64(s.Number("reader")))
		}
		return nil
	}
	for i, name := range fullNames {
		if name == s.Param("full") {
			d.full = i
		}
	}
	d.poll = unix.PollFd{Fd: int32(s.wfd), Events: unix.POLLOUT}
	if s.process.workload.Unconnected {
		d.to, d.toLen, err = s.Sockaddr(s.Server())
	}
	return err
}

// sendDatagram sends one message and waits for room as it was told to.
//
//go:nosplit
//go:norace
func sendDatagram(w *Worker) uintptr {
	d := (*datagram)(w.state)
	if w.gio >= 0 && d.to == 0 {
		return w.Send(w.Request)
	}
	flags := uintptr(unix.MSG_DONTWAIT)
	if d.full == fullBlock {
		flags = 0
	}
	for {
		n, e := w.transmit(unix.SYS_SENDTO, w.wfd, uintptr(w.buf), w.Request, flags, d.to, d.toLen)
		switch e {
		case 0:
			if n != w.Request {
				return failShort
			}
			return 0
		case uintptr(unix.EINTR):
			w.slot.Errors[countEINTR]++
			continue
		case uintptr(unix.EAGAIN):
			w.slot.Errors[countEAGAIN]++
		case uintptr(unix.ENOBUFS):
			w.slot.Errors[countENOBUFS]++
		default:
			return e
		}
		if atomicPhase(w.ctl) >= PhaseAbort {
			return e
		}
		switch d.full {
		case fullYield:
			w.sys(unix.SYS_SCHED_YIELD, 0, 0, 0, 0, 0)
		case fullPoll:
			w.sys(sysPoll, uintptr(unsafe.Pointer(&d.poll)), 1, pollForever, 0, 0)
		}
	}
}

//go:nosplit
//go:norace
func receiveDatagram(w *Worker) uintptr {
	if e := w.Recv(w.Request); e != 0 {
		return e
	}
	if d := (*datagram)(w.state); d.work != 0 {
		spin(d.work)
	}
	return 0
}
