// Package record holds the plain values that leave a measurement: what one
// run of one cell was told, saw and counted. Every other room either fills a
// record (runner) or reads one (journal, report, and all that compare).
//
// Units are in the names: _ns is nanoseconds, _s is seconds. An absent figure
// is absent, and its name stands under Unavailable with the reason; no figure
// is ever a zero that means "not measured".
package record

// Schema is the version of the record's layout. It changes when the meaning
// of a field changes, not when a field is added.
const Schema = 1

// The values of Run.Kind and Run.Status.
const (
	Timed        = "timed"
	Instrumented = "instrumented"

	OK     = "ok"
	Failed = "failed"
)

// The roles of a worker.
const (
	Client = "client"
	Server = "server"
)

// Cell is one point of the matrix. Its identity is the whole object, Params
// included: two runs belong to one series when their cells are equal.
type Cell struct {
	Workload    string            `json:"workload"`
	Transport   string            `json:"transport"`
	Address     string            `json:"address"`
	Parallel    int               `json:"parallel"` // clients active at once, from 1
	Model       string            `json:"model"`    // clients: process, thread, goroutine
	ServerModel string            `json:"server_model"`
	OneProcess  bool              `json:"one_process"`
	Placement   string            `json:"placement"`
	Policy      string            `json:"policy"` // scheduling policy given to the workers
	NiceClient  int               `json:"nice_client"`
	NiceServer  int               `json:"nice_server"`
	Request     int               `json:"request"`  // bytes, client to server
	Response    int               `json:"response"` // bytes, server to client; 0 where nothing comes back
	Clock       string            `json:"clock"`
	Params      map[string]string `json:"params"`
}

// Error says which worker ended a run, and why. Worker is -1 where no single
// worker is to blame (the watchdog, the coordinator); Op counts the
// operations that the worker had finished.
type Error struct {
	Worker int    `json:"worker"`
	Role   string `json:"role,omitempty"`
	Op     uint64 `json:"op"`
	Errno  string `json:"errno,omitempty"` // the name, as EPIPE, where a system call failed
	What   string `json:"what"`            // one sentence for a person
}

func (e *Error) Error() string { return e.What }

// Spread is the least, mean and greatest of a set of times in nanoseconds.
type Spread struct {
	Min int64   `json:"min"`
	Avg float64 `json:"avg"`
	Max int64   `json:"max"`
}

// Latency summarises the operations timed inside the window. Percentiles come
// from the histogram and carry its relative error (under 1 %); Min, Mean and
// Max are exact.
type Latency struct {
	Count uint64  `json:"count"`
	Min   int64   `json:"min"`
	Mean  float64 `json:"mean"`
	P50   int64   `json:"p50"`
	P90   int64   `json:"p90"`
	P99   int64   `json:"p99"`
	P999  int64   `json:"p999"`
	Max   int64   `json:"max"`
}

// Histogram is the merged latency histogram: Buckets holds [index, count] of
// the buckets that are not empty. Package histogram says which values an
// index stands for.
type Histogram struct {
	Unit    string      `json:"unit"`
	SubBits int         `json:"sub_bits"`
	Buckets [][2]uint64 `json:"buckets"`
}

// CPU is time on a CPU in nanoseconds, as RUSAGE_THREAD splits it. The split
// is sampled at ticks on many kernels; the sum is not.
type CPU struct {
	User   int64 `json:"user"`
	System int64 `json:"system"`
}

// Switches are context switches as the kernel counts them (ru_nvcsw, ru_nivcsw).
type Switches struct {
	Voluntary   int64 `json:"voluntary"`
	Involuntary int64 `json:"involuntary"`
}

// Host is what the machine did meanwhile, over the window.
type Host struct {
	StealNS      *int64  `json:"steal_ns,omitempty"`       // time the hypervisor took, all CPUs
	IrqNS        *int64  `json:"irq_ns,omitempty"`         // interrupts and softirqs, all CPUs
	ForeignCPUNS *int64  `json:"foreign_cpu_ns,omitempty"` // CPU time of everything that is not this run
	Throttled    *uint64 `json:"throttled,omitempty"`      // periods in which the cgroup's quota stopped it
	MinorFaults  *int64  `json:"minor_faults,omitempty"`   // of the workers, between their own snapshots
	MajorFaults  *int64  `json:"major_faults,omitempty"`
	IdleCPUs     int     `json:"idle_cpus,omitempty"` // how many CPUs Idle is of: those of the workers
	Idle         []Idle  `json:"idle,omitempty"`      // by state, shallowest first
	FreqKHz      *int64  `json:"freq_khz,omitempty"`  // mean current frequency at window close
}

// Idle is how CPUs slept in one of their idle states during the window.
type Idle struct {
	State     string `json:"state"`
	LatencyUS int64  `json:"latency_us"` // to wake, as its driver says: a hypervisor's part is not in it
	Entries   int64  `json:"entries"`
	TimeNS    int64  `json:"time_ns"`
}

// Role sums the workers of one role over their own windows. It is the only
// accounting there is for goroutines, whose threads are not their own.
type Role struct {
	Processes  int `json:"processes"`
	Workers    int `json:"workers"`
	GOMAXPROCS int `json:"gomaxprocs,omitempty"`
	// Ops counts the operations between the same snapshots that the other
	// figures are differences of. What one operation cost is the sum over the
	// roles of figure / Ops.
	Ops        uint64    `json:"ops"`
	CPUNS      *CPU      `json:"cpu_ns,omitempty"`
	Switches   *Switches `json:"switches,omitempty"`
	RunDelayNS *int64    `json:"run_delay_ns,omitempty"`
	Time       *Time     `json:"time,omitempty"` // absent where Run.Unavailable says why, as "roles.client.time"
}

// Worker is one worker of one run. Figures are differences between the
// worker's own two snapshots, at window open and window close, unless the
// name says otherwise.
type Worker struct {
	Role          string            `json:"role"`
	Index         int               `json:"index"`
	Pair          *int              `json:"pair,omitempty"` // from the exchange on the connection, not from the plan
	PID           int               `json:"pid,omitempty"`
	TID           int               `json:"tid,omitempty"`
	CPUs          []int             `json:"cpus,omitempty"`         // the mask as read back after pinning
	CPUSeen       *int              `json:"cpu_seen,omitempty"`     // the CPU it ran on at window close
	Ops           uint64            `json:"ops"`                    // inside the window
	OpsTotal      uint64            `json:"ops_total"`              // from gate 2 to stop
	WindowNS      int64             `json:"window_ns,omitempty"`    // between its own two snapshots
	SnapshotOps   uint64            `json:"snapshot_ops,omitempty"` // between its own two snapshots
	StarvedSlices int               `json:"starved_slices"`
	Errors        map[string]uint64 `json:"errors,omitempty"` // by name; retries included
	Switches      *Switches         `json:"switches,omitempty"`
	CPUNS         *CPU              `json:"cpu_ns,omitempty"`
	OnCPUNS       *int64            `json:"on_cpu_ns,omitempty"` // schedstat's time on CPU: not tick-sampled
	RunDelayNS    *int64            `json:"run_delay_ns,omitempty"`
	BlockedNS     *int64            `json:"blocked_ns,omitempty"` // what is left of WindowNS
	Migrations    *int64            `json:"migrations,omitempty"` // from before gate 1 to after stop, not the window
	MinorFaults   *int64            `json:"minor_faults,omitempty"`
	MajorFaults   *int64            `json:"major_faults,omitempty"`
	ConnectNS     *int64            `json:"connect_ns,omitempty"`

	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// Run is one timed execution of one cell. A failed run has no throughput: Ops,
// OpsPerS and everything drawn from them are absent.
type Run struct {
	Schema  int    `json:"schema"`
	Session string `json:"session"`
	Boot    string `json:"boot"`
	Seq     int    `json:"seq"`
	Block   int    `json:"block"`
	Kind    string `json:"kind"`
	Status  string `json:"status"`
	Error   *Error `json:"error,omitempty"`
	Cell    Cell   `json:"cell"`

	// Paired says that the run took turns with others of its block in short
	// slices; nil where it had the machine to itself. Slices are then its own.
	Paired *Paired `json:"paired,omitempty"`

	Start        string     `json:"start"` // RFC 3339, when the first process was started
	Loop         string     `json:"loop"`  // "closed": the next operation starts when the last has ended; "open": on a schedule (--rate), latency from the intended time
	WindowS      *float64   `json:"window_s,omitempty"`
	WarmupS      *float64   `json:"warmup_s,omitempty"`
	Ops          *uint64    `json:"ops,omitempty"`
	OpsPerS      *float64   `json:"ops_per_s,omitempty"`
	OfferedPerS  *float64   `json:"offered_ops_per_s,omitempty"` // of an open loop: the rate of its schedule, which OpsPerS falls short of where it is overloaded
	BytesPerS    *float64   `json:"bytes_per_s,omitempty"`       // payload of the operations, both directions; each byte once
	LostMessages *uint64    `json:"lost_messages,omitempty"`     // messages sent from gate 2 to stop that never came
	LockTakings  *uint64    `json:"user_lock_takings,omitempty"` // times that a profile's server took its own lock, from gate 2 to stop: once an exchange
	LockWaits    *uint64    `json:"user_lock_waits,omitempty"`   // how many of these takings found it held by another thread
	Fairness     *float64   `json:"fairness,omitempty"`          // Jain's index of the clients' operations in the window: 1 all alike, 1/N one has all
	Shares       *Shares    `json:"shares,omitempty"`
	Slices       []uint64   `json:"slices,omitempty"`
	SliceNS      []int64    `json:"slice_ns,omitempty"` // true length of each slice, midpoint to midpoint
	ScanNS       *int64     `json:"scan_ns,omitempty"`  // the longest reading of all counters
	StartSkewNS  *int64     `json:"start_skew_ns,omitempty"`
	ReadyNS      *int64     `json:"ready_ns,omitempty"` // from the first spawn until every worker was ready for gate 2
	ConnectNS    *Spread    `json:"connect_ns,omitempty"`
	LatencyOf    string     `json:"latency_of,omitempty"` // what each latency is the time of: "a round trip", "connect(2) alone"
	LatencyNS    *Latency   `json:"latency_ns,omitempty"`
	Histogram    *Histogram `json:"histogram,omitempty"`

	CPUNS       *CPU              `json:"cpu_ns,omitempty"`
	Switches    *Switches         `json:"switches,omitempty"`
	Migrations  *int64            `json:"migrations,omitempty"`
	RunDelayNS  *int64            `json:"run_delay_ns,omitempty"`
	Roles       map[string]Role   `json:"roles,omitempty"`
	Errors      map[string]uint64 `json:"errors,omitempty"`
	ErrorsOps   *uint64           `json:"errors_ops,omitempty"` // operations from gate 2 to stop, which Errors belong to
	ClockCostNS *float64          `json:"clock_cost_ns,omitempty"`
	WorkClockNS *float64          `json:"work_clock_cost_ns,omitempty"` // one call of --work-clock
	Accounting  *Accounting       `json:"cpu_accounting,omitempty"`
	Host        *Host             `json:"host,omitempty"`
	IdleLatency *int64            `json:"idle_latency_us,omitempty"`    // what --idle-latency held, as the kernel read it back
	Spin        *Spin             `json:"spin,omitempty"`               // of workloads whose workers do CPU work
	Coordinator string            `json:"coordinator,omitempty"`        // how the coordinator was scheduled above the workers
	CoordCPUNS  *int64            `json:"coordinator_cpu_ns,omitempty"` // its own CPU time while the window was open

	// Of instrumented runs only.
	Instruments []Instrument `json:"instruments,omitempty"`
	Locks       []Lock       `json:"locks,omitempty"`
	Sched       *Sched       `json:"sched,omitempty"`
	Counters    []Counters   `json:"counters,omitempty"`
	// SwitchCauses are the whole machine's context switches in the window by
	// cause, where a FreeBSD kernel counts them: turnstile for a lock, sleepq
	// for something to come, owepreempt to make room.
	SwitchCauses map[string]int64 `json:"switch_causes,omitempty"`

	// Effective is what parameters came to that the kernel cuts or rounds, as read
	// back: "send_buffer" and "receive_buffer", the least of all ends in bytes as
	// getsockopt(2) gives them (Linux: twice what was asked for), "backlog". Only
	// what was asked for is here.
	Effective map[string]int64 `json:"effective,omitempty"`

	Warnings    []string          `json:"warnings,omitempty"`
	Unavailable map[string]string `json:"unavailable,omitempty"`

	// Workers is printed by `run --json` and kept in workers.jsonl, not in runs.jsonl.
	Workers []Worker `json:"workers,omitempty"`
}

// Spin is how CPU work was calibrated, once for a session: work counts turns of a
// loop, so that all figures of work rest on PerUS.
type Spin struct {
	PerUS  float64 `json:"per_us"` // turns in a microsecond, by the fastest try
	Spread float64 `json:"spread"` // how much longer the third fastest took, as a fraction
	Tries  int     `json:"tries"`
}

// Paired is how runs took turns: all the levels' workers were alive together
// and parked while it was not their turn. The set of processes is the unit of
// replication; it is the run's block.
type Paired struct {
	Factor string `json:"factor"` // the field of the cell that differs; "nothing" for A/A
	Level  string `json:"level"`  // its value here; A or B for A/A
	Levels int    `json:"levels"` // how many took turns
	Rounds int    `json:"rounds"` // turns of each, first to last and last to first in turn
}

// Workers is one line of workers.jsonl: the workers of the run with the same Seq.
type Workers struct {
	Schema  int      `json:"schema"`
	Session string   `json:"session"`
	Seq     int      `json:"seq"`
	Workers []Worker `json:"workers"`
}

// Missing notes that the figure name is absent, and why.
func (r *Run) Missing(name, why string) {
	if r.Unavailable == nil {
		r.Unavailable = map[string]string{}
	}
	r.Unavailable[name] = why
}

// Missing notes that the figure name is absent, and why.
func (w *Worker) Missing(name, why string) {
	if w.Unavailable == nil {
		w.Unavailable = map[string]string{}
	}
	w.Unavailable[name] = why
}
