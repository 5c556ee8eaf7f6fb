package record

// Counters are the events that were counted for the threads of one role,
// kernel and user space together. Per operation is Count / Ops.
type Counters struct {
	Role    string    `json:"role"`
	Threads int       `json:"threads"`
	Ops     uint64    `json:"ops"` // while the counters were on
	Events  []Counter `json:"events"`
}

// Counter is one event's count, summed over the threads.
type Counter struct {
	Event    string `json:"event"`    // as perf names it
	Hardware bool   `json:"hardware"` // counted by the processor
	Count    int64  `json:"count"`    // scaled up by EnabledNS / RunningNS where the processor had too few counters
	// EnabledNS is the time on CPU while the event was asked for, RunningNS the
	// part of it in which it had a counter.
	EnabledNS int64 `json:"enabled_ns"`
	RunningNS int64 `json:"running_ns"`
}
