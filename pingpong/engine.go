package pingpong

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/histogram"
)

// entersyscallblock is entersyscall for a call that is known to block: it gives
// the P away at once, where entersyscall leaves it to be retaken, which keeps
// the runtime's monitor thread awake for some milliseconds.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// How a worker times.
const (
	timeNothing = iota
	timeChained // every operation: its end is the next one's start
	timeSingle  // one operation in Every, at random phase
	stampSend   // put the time into the message
	stampRecv   // take the delay since the time in the message
	timeOpen    // every operation, from the time that it was due
	timeOwn     // the operation itself times a part of it, by mark and took
)

// Worker is the state of one worker inside the timed loop. It lies in memory
// from mmap, first touched by the pinned worker; its pointers lead to other
// such memory, never to the Go heap.
type Worker struct {
	ctl  *Control
	slot *Slot

	rfd, wfd          uintptr
	writes, flags     uintptr        // the system call that sends a message, and its flags
	buf               unsafe.Pointer // one message, as long as the longer direction
	Request, Response uintptr        // bytes
	stream            bool           // messages may come in parts: partial reads and writes are continued
	retryFull         bool           // ENOBUFS means a full receiver
	first             bool           // leaves at stop; others leave at the end of file
	idle              bool           // may be left without an operation
	state             unsafe.Pointer // what the workload's Setup made for its steps

	gio     int32 // index into the goroutine I/O table; -1 on a thread of its own
	schedFD int32 // /proc/thread-self/schedstat; -1 none

	phase     uint32 // the last that it acted on
	limit     uint64 // operations to do; 0 until stop
	clock     uint32
	timing    uint32
	mult      uint64
	every     uint64
	countdown uint64
	random    uint64
	recording bool
	counting  bool // --ops: the window is the whole loop

	interval int64 // open loop: ns from one operation's intended start to the next's; 0 closed
	next     int64 // intended start of the next one, CLOCK_MONOTONIC
}

//go:nosplit
//go:norace
func atomicPhase(c *Control) uint32 { return atomic.LoadUint32(&c.Phase) & phaseMask }

// run is the timed path: to the Go runtime one system call. Only functions
// marked nosplit may be called between the two, and a stack check there is
// fatal. Goroutines take the same loop as ordinary Go code.
//
//go:norace
//go:noinline
func (w *Worker) run(step func(*Worker) uintptr) uintptr {
	if w.gio >= 0 {
		return w.loop(step)
	}
	entersyscallblock()
	code := w.loop(step)
	exitsyscall()
	return code
}

// loop does operations until stop, the limit, the end of file or a failure,
// and returns the code of the step that ended it; 0 after stop or limit.
//
//go:nosplit
//go:norace
func (w *Worker) loop(step func(*Worker) uintptr) uintptr {
	slot := w.slot
	word := PhaseWarmup
	w.phase = PhaseWarmup
	var n uint64
	atomic.StoreInt64(&slot.StartNS, nanotime())
	if w.counting {
		w.snapshot(&slot.Open, 0)
		w.recording = true
	}
	var t int64
	if w.timing == timeChained {
		t = w.now()
	}
	if w.idle {
		atomic.AddUint32(&w.ctl.Count[Warmed], 1)
	}
	w.next += slot.StartNS
	for {
		if w.interval != 0 {
			if word = w.untilDue(word, n); w.phase >= PhaseStop && w.first {
				return 0
			}
			t = w.next
			w.next += w.interval
		}
		switch w.timing {
		case timeSingle:
			if w.due() {
				t = w.now()
			}
		case stampSend:
			t = 0
			if w.every == 0 || w.due() {
				t = w.now()
			}
			*(*int64)(w.buf) = t
		}
		if e := step(w); e != 0 {
			if w.counting {
				w.snapshot(&slot.Close, n)
				slot.CPUSeen = rawCPU()
			}
			return e
		}
		n++
		atomic.StoreUint64(&slot.Ops, n)
		switch w.timing {
		case timeChained:
			now := w.now()
			w.observe(now - t)
			t = now
		case timeOpen:
			w.observe(w.now() - t)
		case timeSingle:
			if w.countdown == 0 {
				w.observe(w.now() - t)
				w.rewind()
			}
		case stampSend:
			if w.countdown == 0 && w.every != 0 {
				w.rewind()
			}
		case stampRecv:
			if sent := *(*int64)(w.buf); sent != 0 {
				w.observe(w.now() - sent)
			}
		}
		if n == 1 && !w.idle {
			atomic.AddUint32(&w.ctl.Count[Warmed], 1)
		}
		if p := atomic.LoadUint32(&w.ctl.Phase); p != word {
			word = w.edge(p, n)
			if w.phase >= PhaseStop && w.first {
				return 0
			}
			if w.timing == timeChained {
				t = w.now() // what the edge took belongs to no operation
			}
		}
		if n == w.limit {
			w.snapshot(&slot.Close, n)
			slot.CPUSeen = rawCPU()
			return 0
		}
	}
}

// edge is called when the phase word has changed to p. It stores the worker's
// own snapshots when the window opens and closes, waits while the worker is
// parked, and returns the word that it has acted on. A worker that slept
// through the open window has no snapshots.
//
//go:nosplit
//go:norace
func (w *Worker) edge(p uint32, n uint64) uint32 {
	for {
		if phase := p & phaseMask; phase != w.phase {
			w.phase = phase
			w.turn(phase, n)
		}
		if p&Parked == 0 || !w.first || w.phase >= PhaseStop {
			return p
		}
		rawWaitWord(&w.ctl.Phase, p)
		p = atomic.LoadUint32(&w.ctl.Phase)
	}
}

//go:nosplit
//go:norace
func (w *Worker) turn(phase uint32, n uint64) {
	if w.counting {
		return
	}
	slot := w.slot
	switch {
	case phase == PhaseWindow:
		w.snapshot(&slot.Open, n)
		atomic.AddUint32(&w.ctl.Count[Opened], 1)
		w.recording = true
	case phase == PhaseCool && slot.Open.Taken != 0:
		w.recording = false
		w.snapshot(&slot.Close, n)
		slot.CPUSeen = rawCPU()
		atomic.AddUint32(&w.ctl.Count[Closed], 1)
	default:
		w.recording = false
	}
}

// snapshot stores time, operations, RUSAGE_THREAD and schedstat of the calling
// thread. A goroutine has no thread of its own: it stores the first two.
//
//go:nosplit
//go:norace
func (w *Worker) snapshot(s *Snapshot, n uint64) {
	s.TimeNS = nanotime()
	s.Ops = n
	if w.gio < 0 {
		syscall.RawSyscall6(unix.SYS_GETRUSAGE, rusageThread, uintptr(unsafe.Pointer(&s.Usage)), 0, 0, 0, 0)
		if w.schedFD >= 0 {
			r, _, e := syscall.RawSyscall6(sysPread, uintptr(w.schedFD), uintptr(unsafe.Pointer(&s.Stat)), uintptr(len(s.Stat)), 0, 0, 0)
			s.StatLen = int64(r)
			if e != 0 {
				s.StatLen = -int64(e)
			}
		}
	}
	atomic.StoreUint32(&s.Taken, 1)
}

// observe counts one latency of d nanoseconds while the window is open.
//
//go:nosplit
//go:norace
func (w *Worker) observe(d int64) {
	if !w.recording {
		return
	}
	if d < 0 {
		d = 0 // clocks of two CPUs, at most a few ticks apart
	}
	v, s := uint64(d), w.slot
	*(*uint32)(unsafe.Add(unsafe.Pointer(&s.Hist), 4*uintptr(histogram.Index(v))))++
	s.LatCount++
	s.LatSum += v
	if v < s.LatMin {
		s.LatMin = v
	}
	if v > s.LatMax {
		s.LatMax = v
	}
}

// untilDue waits until the next operation is due and returns the phase word
// that it has acted on meanwhile. An operation that is late starts at once, and
// its latency holds the delay.
//
//go:nosplit
//go:norace
func (w *Worker) untilDue(word uint32, n uint64) uint32 {
	for nanotime() < w.next {
		if w.gio >= 0 {
			goSleepUntil(w.next)
		} else {
			rawWaitUntil(&w.ctl.Phase, word, w.next)
		}
		if p := atomic.LoadUint32(&w.ctl.Phase); p != word {
			word = w.edge(p, n)
			if w.phase >= PhaseStop {
				break
			}
		}
	}
	return word
}

// mark begins the timed part of an operation whose workload times it itself;
// 0 where this one is not timed.
//
//go:nosplit
//go:norace
func (w *Worker) mark() int64 {
	if w.timing != timeOwn || w.every != 0 && !w.due() {
		return 0
	}
	return w.now()
}

// took ends what mark began at t.
//
//go:nosplit
//go:norace
func (w *Worker) took(t int64) {
	if t == 0 {
		return
	}
	w.observe(w.now() - t)
	if w.every != 0 {
		w.rewind()
	}
}

// due counts down to the next operation that is to be timed.
//
//go:nosplit
//go:norace
func (w *Worker) due() bool {
	if w.countdown != 0 {
		w.countdown--
	}
	return w.countdown == 0
}

// rewind draws the distance to the next timed operation, uniform in
// 1…2·every−1, so that its mean is every and no period of the workload can
// lock to it. The generator is xorshift64 (Marsaglia 2003).
//
//go:nosplit
//go:norace
func (w *Worker) rewind() {
	x := w.random
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	w.random = x
	w.countdown = 1 + x%(2*w.every-1)
}
