package record

// The classes of Lock.Class: what the lock protects.
const (
	ClassSocket      = "socket"
	ClassScheduler   = "scheduler"
	ClassDescriptors = "descriptors"
	ClassMemory      = "memory"
	ClassVFS         = "vfs"
	ClassNet         = "net"
	ClassUser        = "user" // a lock of user space's own, waited for in futex(2) or umtx
	ClassOther       = "other"
)

// LockClasses are all of them.
var LockClasses = []string{ClassSocket, ClassScheduler, ClassDescriptors, ClassMemory, ClassVFS, ClassNet, ClassUser, ClassOther}

// The values of Lock.Where: who waited.
const (
	InWorkers = "workers"   // a worker, in a system call or fault of its own
	InRuntime = "runtime"   // another thread of a worker's process: the Go runtime's, not the load's
	InSoftirq = "softirq"   // a softirq that ran on a worker's time
	InIRQ     = "interrupt" // an interrupt handler on a worker's time
	InKthread = "kthread"   // a kernel thread, whomever it worked for
	InSystem  = "system"    // all of the machine: the source cannot tell
)

// Lock is one row of the lock table of an instrumented run: all waits of one
// kind at one site, as one source saw them. What the source does not tell is
// absent; a row that was not seen does not exist.
type Lock struct {
	Site   string `json:"site"`             // the function that wanted the lock; the lock's name where the source knows locks by name
	Caller string `json:"caller,omitempty"` // the function that called Site
	Kind   string `json:"kind"`             // spinlock, rwlock:read, mutex:slept, …
	Class  string `json:"class"`
	Where  string `json:"where"`
	Source string `json:"source"`

	Addresses   *int   `json:"addresses,omitempty"`    // distinct locks waited for
	AtLeast     bool   `json:"at_least,omitempty"`     // Addresses counts no further than the source had room
	Count       *int64 `json:"count,omitempty"`        // waits that ended in the window
	TotalNS     *int64 `json:"total_ns,omitempty"`     // summed wait
	MinNS       *int64 `json:"min_ns,omitempty"`       // the mean is total_ns / count
	MaxNS       *int64 `json:"max_ns,omitempty"`       // longest wait
	Acquired    *int64 `json:"acquired,omitempty"`     // acquisitions, waited for or not
	Samples     *int64 `json:"samples,omitempty"`      // threads seen waiting here, by a source that samples
	SampleShare *Ratio `json:"sample_share,omitempty"` // Samples of all samples taken

	Histogram *Histogram         `json:"histogram,omitempty"` // of waits; see package histogram, SubBits may be less than there
	Columns   map[string]float64 `json:"columns,omitempty"`   // all that the source tells, under its own names and in its own units
	Points    []LockPoint        `json:"points,omitempty"`    // where it was waited for
	Holders   []LockPoint        `json:"holders,omitempty"`   // where it was held meanwhile
	Stacks    []LockStack        `json:"stacks,omitempty"`
}

// Ratio is a part of a whole, kept as both.
type Ratio struct {
	N  int64 `json:"n"`
	Of int64 `json:"of"`
}

// LockPoint is a place in the kernel's source or text, and how often.
type LockPoint struct {
	At      string `json:"at"`
	Count   int64  `json:"count"`
	TotalNS *int64 `json:"total_ns,omitempty"`
}

// LockStack is one way to a site: function names, outermost first, the site last.
type LockStack struct {
	Frames  []string `json:"frames"`
	Count   int64    `json:"count"`
	TotalNS int64    `json:"total_ns"`
}

// Instrument is what watched an instrumented run, and its price.
type Instrument struct {
	Name     string            `json:"name"`                // locks, sched
	Source   string            `json:"source"`              // which of its sources, by name
	Options  string            `json:"options,omitempty"`   // as they were given: nostacks, depth=8, source=perf, joined by +
	Refused  map[string]string `json:"refused,omitempty"`   // better sources, and why they were not available
	Blind    []string          `json:"blind,omitempty"`     // what it cannot see here
	Diagnose bool              `json:"diagnose,omitempty"`  // this kernel is for diagnosis: no time on it means anything for another
	NoStacks bool              `json:"no_stacks,omitempty"` // sites are system calls, not functions
	WindowNS *int64            `json:"window_ns,omitempty"`
	CPUs     int               `json:"cpus,omitempty"` // online CPUs: window × CPUs are all CPU-seconds
	Events   *int64            `json:"events,omitempty"`
	Lost     *int64            `json:"lost,omitempty"` // events that did not reach the sums
	// Waits that had begun and not ended when the window closed; in no row.
	Unfinished        *int64 `json:"unfinished,omitempty"`
	UnfinishedFutexes *int64 `json:"unfinished_futexes,omitempty"` // of workers
	// Threads looked at, each time anew, by a source that samples: the whole of
	// every sample_share.
	Samples *int64 `json:"samples,omitempty"`
	// How this kernel waits for spinlocks, which decides what of it is traced.
	Spinlocks string   `json:"spinlocks,omitempty"`
	SelfNS    *int64   `json:"self_ns,omitempty"`
	Calls     *int64   `json:"calls,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// Sleep is why workers slept: all sleeps at one site.
type Sleep struct {
	Site      string      `json:"site"` // a function, or "read()" and the like where no stack was taken
	Caller    string      `json:"caller,omitempty"`
	Deep      bool        `json:"uninterruptible,omitempty"`
	Count     int64       `json:"count"`
	TotalNS   int64       `json:"total_ns"`
	MinNS     int64       `json:"min_ns"`
	MaxNS     int64       `json:"max_ns"`
	Histogram *Histogram  `json:"histogram,omitempty"`
	Stacks    []LockStack `json:"stacks,omitempty"`
}

// ThreadTime is where one thread's window went, as its switches tell.
type ThreadTime struct {
	PID           int    `json:"pid"`
	TID           int    `json:"tid"`
	LifeNS        int64  `json:"life_ns"` // the part of the window in which it was there; on, runnable and blocked make it up
	OnNS          int64  `json:"on_ns"`
	RunnableNS    int64  `json:"runnable_ns"`
	BlockedNS     int64  `json:"blocked_ns"`
	RunnableMaxNS int64  `json:"runnable_max_ns"`
	Voluntary     int64  `json:"voluntary"`
	Involuntary   int64  `json:"involuntary"`
	Wakes         int64  `json:"wakes"`
	Migrations    int64  `json:"migrations"`
	Unavailable   string `json:"unavailable,omitempty"`
}

// CPUPair counts from one CPU to another.
type CPUPair struct {
	From int   `json:"from"`
	To   int   `json:"to"`
	N    int64 `json:"n"`
}

// Sched is what the scheduler instrument saw of one run.
type Sched struct {
	Agreement       *Agreement   `json:"agreement,omitempty"`
	Sleeps          []Sleep      `json:"sleeps,omitempty"`
	Threads         []ThreadTime `json:"threads,omitempty"`
	WakeupNS        *Latency     `json:"wakeup_ns,omitempty"` // from the waker's start until the woken thread runs
	WakeupHistogram *Histogram   `json:"wakeup_histogram,omitempty"`
	Moves           []CPUPair    `json:"moves,omitempty"` // threads that changed CPU
	Wakes           []CPUPair    `json:"wakes,omitempty"` // waker's CPU, wakee's CPU

	MovesByDistance map[string]int64 `json:"moves_by_distance,omitempty"` // in the topology's words
	WakesByDistance map[string]int64 `json:"wakes_by_distance,omitempty"`
}
