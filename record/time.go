package record

// Time is where the windows of a role's threads went, summed over those that
// took snapshots at both edges. OnNS, RunnableNS and BlockedNS make up WallNS
// in each thread, and so in the sum. What an operation took is figure / Ops;
// those of two roles overlap in time and must not be added up to the time of
// a round trip.
//
// A thread is charged for a CPU while an interrupt that it did not cause runs
// on it; Accounting says where this kernel puts that time and the hypervisor's.
type Time struct {
	Threads    int    `json:"threads"`
	Ops        uint64 `json:"ops"` // between the same snapshots
	WallNS     int64  `json:"wall_ns"`
	OnNS       int64  `json:"on_ns"`                 // on a CPU; Role.CPUNS splits it into user and system time
	RunnableNS *int64 `json:"runnable_ns,omitempty"` // wanted a CPU and had none
	BlockedNS  *int64 `json:"blocked_ns,omitempty"`  // what is left: asleep
	OffNS      *int64 `json:"off_ns,omitempty"`      // runnable or blocked, where the kernel does not tell the two apart
	Source     string `json:"source"`                // of OnNS and RunnableNS
}

// Accounting is how the kernel accounts for CPU time.
type Accounting struct {
	// Mode is how it tells user from system time: tick (sampled at timer
	// interrupts), gen or native (at each change). "" is not known.
	Mode   string `json:"mode,omitempty"`
	TickNS int64  `json:"tick_ns,omitempty"` // between two samples
	// InterruptsApart says that time in interrupts is not charged to the thread
	// that they interrupted; it is then part of what is left as blocked.
	InterruptsApart *bool  `json:"interrupts_apart,omitempty"`
	Unknown         string `json:"unknown,omitempty"` // why Mode is not known
}

// Share is one worker's part of the operations in the window.
type Share struct {
	Role  string `json:"role"`
	Index int    `json:"index"`
	Ops   uint64 `json:"ops"`
}

// Shares says on whom the operations of the window fell; Run.Fairness is their
// index. A mean hides a worker that a scheduler starves.
type Shares struct {
	Slowest Share   `json:"slowest"` // of the clients
	Fastest Share   `json:"fastest"`
	Starved []Share `json:"starved,omitempty"` // workers of either role that had a slice without an operation: the first 100
	Hungry  int     `json:"starved_workers"`   // how many they are
}

// Agreement holds what the switches tell of the workers' windows, by the run
// queue's clock, against what their own snapshots tell: the mean over threads of
// how far the two are apart, as a part of the window.
type Agreement struct {
	Threads  int     `json:"threads"`
	On       float64 `json:"on"`
	Runnable float64 `json:"runnable"`
	Blocked  float64 `json:"blocked"`
}
