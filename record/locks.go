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

	BeingWokenNS int64 `json:"being_woken_ns"` // of BlockedNS: from its waker's start until it was queued
	IdleExitNS   int64 `json:"idle_exit_ns"`   // of BeingWokenNS and RunnableNS: where the CPU that it then got had been idle

	Clock *RunQueueTime `json:"by_run_queue_clock,omitempty"` // absent where the kernel does not let it be read
}

// RunQueueTime is time on CPU and time runnable by the clock of the run queue,
// which Linux's own accounts (schedstat) go by. It is not brought up to date
// for a switch that a wake-up asked for: the way from being queued to the switch,
// a CPU's leaving idle included, is then time on CPU and not of waiting.
type RunQueueTime struct {
	OnNS       int64 `json:"on_ns"`
	RunnableNS int64 `json:"runnable_ns"`
	// UnchargedNS is beside OnNS: time on a CPU that the kernel charged nobody
	// for, as what a hypervisor took of it, where the kernel knows of that.
	UnchargedNS int64 `json:"uncharged_ns,omitempty"`
	// MovedAsleepNS is of RunnableNS: sleep of a thread that was moved to another
	// run queue before it had been taken off its own (sched_delayed, Linux 6.12).
	MovedAsleepNS int64 `json:"moved_asleep_ns,omitempty"`
}

// SwitchTime is where the windows of a role's threads went as their switches
// tell, summed over the threads. OnNS, BehindNS, IdleExitNS and AsleepNS make
// up WallNS.
type SwitchTime struct {
	Threads    int   `json:"threads"`
	WallNS     int64 `json:"wall_ns"`
	OnNS       int64 `json:"on_ns"`
	BehindNS   int64 `json:"behind_ns"`    // woken, from the waker's start on, or preempted, while another thread had the CPU
	IdleExitNS int64 `json:"idle_exit_ns"` // woken, from the waker's start on, for a CPU that was idle
	AsleepNS   int64 `json:"asleep_ns"`    // until a waker began
	// ClockOnNS is OnNS by the run queue's clock, which schedstat goes by.
	ClockOnNS *int64 `json:"on_by_run_queue_clock_ns,omitempty"`
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

	// The same apart by what the CPU that they got did when they were woken.
	WakeupIdleNS          *Latency   `json:"wakeup_idle_ns,omitempty"`
	WakeupIdleHistogram   *Histogram `json:"wakeup_idle_histogram,omitempty"`
	WakeupBehindNS        *Latency   `json:"wakeup_behind_ns,omitempty"` // it had another thread
	WakeupBehindHistogram *Histogram `json:"wakeup_behind_histogram,omitempty"`

	Roles map[string]SwitchTime `json:"roles,omitempty"` // of threads; goroutines have none

	Moves []CPUPair `json:"moves,omitempty"` // threads that changed CPU
	Wakes []CPUPair `json:"wakes,omitempty"` // waker's CPU, wakee's CPU

	MovesByDistance map[string]int64 `json:"moves_by_distance,omitempty"` // in the topology's words
	WakesByDistance map[string]int64 `json:"wakes_by_distance,omitempty"`
}
