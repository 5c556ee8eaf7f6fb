package pingpong

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/histogram"
)

// The phases of a run, in their order. Only the coordinator turns the phase
// word, and only forward. A worker reads it once an operation.
const (
	PhasePin     uint32 = iota // workers pin themselves and report
	PhaseConnect               // gate 1 is open: all connect at once
	PhaseWarmup                // gate 2 is open: load runs, nothing counts
	PhaseWindow                // window open
	PhaseCool                  // window closed; load goes on
	PhaseStop                  // those who leave first leave, after a whole operation
	PhaseLeft                  // they have all left; idle threads wake blocked datagram readers
	PhaseAbort                 // the run failed; whoever waits at a gate exits
)

// Parked is a bit of the phase word beside the phase: whoever leaves first at
// stop waits, between two operations, until the word changes. Sets of workers
// that are alive together take turns by it.
const (
	Parked    uint32 = 1 << 8
	phaseMask uint32 = 1<<8 - 1
)

// Milestones are counted in Control.Count, once by each worker that gets there.
const (
	Pinned    = iota // pinned and verified, listening where it listens
	Ready            // connected, paired, ready for gate 2
	Warmed           // one operation done
	Opened           // own snapshot at window open taken
	Closed           // own snapshot at window close taken
	Finished         // with --ops: all operations done
	Gone             // a client has left
	Done             // out of the loop for good
	AnyFailed        // an error is in the worker's slot
	milestones
)

// Control is the first page of the shared mapping.
type Control struct {
	Phase uint32 // written by the coordinator, read by every worker once an operation: alone on its lines
	_     [124]byte
	Bell  uint32 // a futex: workers ring it when a milestone is full or when one failed
	_     [124]byte
	Count [milestones]uint32
	Want  [milestones]uint32 // at which count the bell is rung
	_     [128]byte
}

// Snapshot is what a worker itself stores when the phase turns, in one go, so
// that the differences of two snapshots of one worker belong together.
type Snapshot struct {
	TimeNS   int64 // CLOCK_MONOTONIC
	Ops      uint64
	Usage    unix.Rusage // RUSAGE_THREAD; RUSAGE_SELF in a process slot
	StatLen  int64       // bytes of Stat, or the negated errno of the pread
	Stat     [64]byte    // /proc/thread-self/schedstat, raw
	Taken    uint32
	Reserved uint32
}

// Names of the errors that are counted apart, in the order of Slot.Errors.
var errorNames = [...]string{"EAGAIN", "ENOBUFS", "ECONNREFUSED", "ETOOMANYREFS", "EMFILE", "EINTR"}

const (
	countEAGAIN = iota
	countENOBUFS
	countECONNREFUSED
	countETOOMANYREFS
	countEMFILE
	countEINTR
	errorKinds
)

// Slot is one worker's own part of the shared mapping: whole pages, touched
// first by the pinned worker, so that they lie in its memory.
type Slot struct {
	Ops uint64 // operations done since gate 2; the only word the coordinator reads in the window
	_   [120]byte

	Open, Close Snapshot

	PID, TID    int32
	State       uint32 // the last milestone reached, plus one
	CPUSeen     int32  // -1 unknown
	Pair        int32  // as exchanged over the connection; -1 none
	Port        int32  // of its TCP listener
	GOMAXPROCS  int32
	StatErrno   int32 // why schedstat could not be opened; 0 open
	ConnectNS   int64 // -1 where this worker connects nothing
	StartNS     int64 // when it passed gate 2
	EndNS       int64 // with --ops: when it had done them all
	Migrations0 int64 // before gate 1; -1 not readable
	Migrations1 int64 // after stop
	Errors      [errorKinds]uint64
	Bytes       uint64                // that a profile's client sent and received
	LockWaits   uint64                // times that a profile's server found its own lock taken
	Effective   [effectiveKinds]int64 // what it read back of what it had asked for; 0 nothing

	Fail   uint32 // 0, or one of the fail codes
	Errno  uint32
	FailOp uint64
	What   [240]byte  // one sentence, NUL-terminated
	Mask   [2048]byte // CPU list as read back, NUL-terminated; "?" where it is longer

	LatCount, LatSum uint64
	LatMin, LatMax   uint64
	_                [128]byte
	Hist             [histogram.Buckets]uint32
}

const (
	pageSize     = 4096
	controlBytes = (unsafe.Sizeof(Control{}) + pageSize - 1) &^ (pageSize - 1)
	slotBytes    = (unsafe.Sizeof(Slot{}) + pageSize - 1) &^ (pageSize - 1)
)

// Memory is the mapping that coordinator and workers have in common: a
// Control, a Slot for each worker, and a Slot for each worker process.
type Memory struct {
	mem   []byte
	slots int
}

// MemoryBytes is the size of a mapping with the given number of slots.
func MemoryBytes(slots int) int64 {
	return int64(controlBytes) + int64(slots)*int64(slotBytes)
}

// MapMemory maps the memory object fd. Nothing is touched yet: pages of a slot
// come into being where their worker runs.
func MapMemory(fd int, slots int) (*Memory, error) {
	mem, err := unix.Mmap(fd, 0, int(MemoryBytes(slots)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Memory{mem: mem, slots: slots}, nil
}

// Unmap gives the mapping back; no Slot or Control of it may be used after.
func (s *Memory) Unmap() error { return unix.Munmap(s.mem) }

// Control returns the control page.
func (s *Memory) Control() *Control { return (*Control)(unsafe.Pointer(&s.mem[0])) }

// Slot returns slot i, from 0.
func (s *Memory) Slot(i int) *Slot {
	return (*Slot)(unsafe.Pointer(&s.mem[int(controlBytes)+i*int(slotBytes)]))
}

// Reached counts the workers that have reached a milestone.
func (c *Control) Reached(milestone int) int { return int(atomic.LoadUint32(&c.Count[milestone])) }

// Turn sets the phase word, a phase with or without Parked, and wakes everyone
// who waits for it.
func (c *Control) Turn(phase uint32) {
	atomic.StoreUint32(&c.Phase, phase)
	wakeAll(&c.Phase)
}

// Wait blocks until the bell is rung or ns nanoseconds have passed; seen is
// the value of the bell that the caller read before it last looked around.
func (c *Control) Wait(seen uint32, ns int64) { waitWord(&c.Bell, seen, ns) }

// Rung reads the bell.
func (c *Control) Rung() uint32 { return atomic.LoadUint32(&c.Bell) }

// awaitPhase blocks until the phase is at least want and returns it.
func (c *Control) awaitPhase(want uint32) uint32 {
	for {
		p := atomic.LoadUint32(&c.Phase)
		if p&phaseMask >= want {
			return p & phaseMask
		}
		waitWord(&c.Phase, p, int64(time.Hour)) // a dead coordinator is noticed by the control pipe
	}
}

// reach counts a milestone of the worker with that slot and rings the bell when
// it is full.
func (c *Control) reach(slot *Slot, milestone int) {
	atomic.StoreUint32(&slot.State, uint32(milestone)+1)
	n := atomic.AddUint32(&c.Count[milestone], 1)
	if n == atomic.LoadUint32(&c.Want[milestone]) || milestone == AnyFailed {
		atomic.AddUint32(&c.Bell, 1)
		wakeAll(&c.Bell)
	}
}

// over reports whether every worker is out of its loop, or the run failed.
func (c *Control) over() bool {
	return c.Reached(Done) >= int(c.Want[Done]) || atomicPhase(c) >= PhaseAbort
}

// SetList stores a list of CPUs into a field of a slot, or "?" where it does
// not fit: a list that is cut is a list of other CPUs.
func SetList(dst []byte, s string) {
	if len(s) >= len(dst) {
		s = "?"
	}
	SetText(dst, s)
}

// SetText stores s, cut to fit, into a NUL-terminated field of a slot.
func SetText(dst []byte, s string) {
	n := copy(dst[:len(dst)-1], s)
	dst[n] = 0
}

// Text reads a NUL-terminated field of a slot.
func Text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// ErrorCounts returns the errors that the worker met and survived, by name.
func (s *Slot) ErrorCounts() map[string]uint64 {
	var m map[string]uint64
	for i, n := range s.Errors {
		if n != 0 {
			if m == nil {
				m = map[string]uint64{}
			}
			m[errorNames[i]] = n
		}
	}
	return m
}
