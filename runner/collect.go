package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/histogram"
	"udsbench/pingpong"
	"udsbench/record"
)

// figures are the names of the run's figures that a failed run has none of.
var figures = []string{"window_s", "warmup_s", "ops", "ops_per_s", "slices", "scan_ns", "start_skew_ns", "connect_ns",
	"latency_ns", "histogram", "offered_ops_per_s", "bytes_per_s", "lost_messages", "user_lock_takings", "user_lock_waits", "fairness", "shares", "cpu_ns", "cpu_accounting", "switches", "migrations", "run_delay_ns", "roles", "host"}

// collectFailed notes who took part in a run that failed.
func (r *run) collectFailed() {
	r.rec.Workers = nil
	for i := range r.workers() {
		w, slot := r.identity(i), r.memory.Slot(i)
		w.OpsTotal = slot.Ops
		for _, name := range []string{"ops", "switches", "cpu_ns", "run_delay_ns", "connect_ns", "starved_slices", "cpu_seen"} {
			w.Missing(name, "the run failed")
		}
		r.rec.Workers = append(r.rec.Workers, w)
	}
	r.rec.Coordinator = r.window.above
	r.effective()
}

// forget takes every figure out of the record: a failed run has none, even
// where it failed after its window.
func (r *run) forget() {
	kept := r.rec
	r.rec = NotRun(r.cell, kept.Error)
	r.rec.Start, r.rec.Coordinator, r.rec.Workers, r.rec.Warnings = kept.Start, kept.Coordinator, kept.Workers, kept.Warnings
	r.rec.ReadyNS, r.rec.ClockCostNS, r.rec.Spin, r.rec.Effective, r.rec.Error = kept.ReadyNS, kept.ClockCostNS, kept.Spin, kept.Effective, kept.Error
}

// collect fills the record from the workers' slots, after all have ended.
func (r *run) collect() {
	rec := r.rec
	for i := range r.workers() {
		rec.Workers = append(rec.Workers, r.worker(i))
	}
	rec.Coordinator = r.window.above
	rec.CoordCPUNS = &r.window.own
	r.throughput()
	r.offered()
	r.effective()
	r.messages()
	r.fairness()
	r.shares()
	r.latency()
	r.connects()
	r.roles()
	r.times()
	r.accounting()
	r.startSkew()
	r.host()
	r.errors()
}

// identity is what is known of a worker before it has done anything.
func (r *run) identity(i int) record.Worker {
	slot := r.memory.Slot(i)
	role, index := r.role(i)
	w := record.Worker{Role: role, Index: index, PID: int(slot.PID), TID: int(slot.TID), Errors: slot.ErrorCounts()}
	if slot.Pair >= 0 {
		pair := int(slot.Pair)
		w.Pair = &pair
	} else {
		w.Missing("pair", r.noPair())
	}
	mask := pingpong.Text(slot.Mask[:])
	if r.model(role) == "goroutine" {
		w.Missing("tid", goroutineWhy)
		w.Missing("cpu_seen", goroutineWhy)
		mask = pingpong.Text(r.memory.Slot(r.processSlot(i)).Mask[:])
	}
	if cpus, err := affinity.ParseList(mask); err == nil && len(cpus) > 0 {
		w.CPUs = cpus
	} else {
		w.Missing("cpus", "the mask was not read back, or is too long to keep")
	}
	if w.PID == 0 {
		w.Missing("pid", "its process had not come so far when the run ended")
	}
	if w.TID == 0 && r.model(role) != "goroutine" {
		w.Missing("tid", "it had not come so far when the run ended")
	}
	return w
}

const goroutineWhy = "a goroutine has no thread of its own; see roles"

func (r *run) noPair() string {
	switch r.workload.Wiring {
	case pingpong.Pairs:
		return "the index was not exchanged"
	case pingpong.Self, pingpong.Alone:
		return "a worker of " + r.workload.Name + " is its own peer"
	case pingpong.Fan:
		return "in " + r.workload.Name + " any server serves any client"
	}
	return "in " + r.workload.Name + " all clients share one receiver"
}

func (r *run) model(role string) string {
	if role == record.Client {
		return r.cell.Model
	}
	return r.cell.ServerModel
}

// processSlot is the slot of the process that worker i belongs to.
func (r *run) processSlot(i int) int {
	for _, p := range r.procs {
		for _, w := range p.spec.Workers {
			if w.Slot == i {
				return p.spec.Process
			}
		}
	}
	return -1
}

// worker takes the differences of one worker's own two snapshots.
func (r *run) worker(i int) record.Worker {
	w, slot := r.identity(i), r.memory.Slot(i)
	w.OpsTotal = slot.Ops
	if r.window.edges != nil {
		w.Ops = r.window.last[i] - r.window.first[i]
		w.StarvedSlices = r.window.starved[i]
	} else {
		w.Ops = slot.Ops
		why := "a run by --ops is not read in slices"
		if r.turns != nil {
			w.Ops = slot.Close.Ops - slot.Open.Ops
			why = "the workers of a paired run are parked while it is not their turn"
		}
		w.Missing("starved_slices", why)
	}
	if slot.ConnectNS >= 0 {
		ns := slot.ConnectNS
		w.ConnectNS = &ns
	} else {
		w.Missing("connect_ns", r.noConnect(w.Role))
	}
	r.migrations(&w, slot)
	if slot.CPUSeen >= 0 && r.model(w.Role) != "goroutine" {
		cpu := int(slot.CPUSeen)
		w.CPUSeen = &cpu
	}
	a, b := &slot.Open, &slot.Close
	if a.Taken == 0 || b.Taken == 0 {
		const why = "starved: it reached no operation's end to take its own snapshot at window open and close"
		for _, name := range []string{"window_ns", "snapshot_ops", "switches", "cpu_ns", "on_cpu_ns", "run_delay_ns", "blocked_ns", "minor_faults", "major_faults", "cpu_seen"} {
			w.Missing(name, why)
		}
		return w
	}
	w.WindowNS = b.TimeNS - a.TimeNS
	w.SnapshotOps = b.Ops - a.Ops
	if r.model(w.Role) == "goroutine" {
		for _, name := range []string{"switches", "cpu_ns", "on_cpu_ns", "run_delay_ns", "blocked_ns", "minor_faults", "major_faults"} {
			w.Missing(name, goroutineWhy)
		}
		return w
	}
	u := usageDiff(&a.Usage, &b.Usage)
	w.CPUNS, w.Switches, w.MinorFaults, w.MajorFaults = &u.cpu, &u.switches, &u.minor, &u.major
	run0, delay0, err0 := schedstat(slot, a)
	run1, delay1, err1 := schedstat(slot, b)
	if why := cmp.Or(err0, err1); why != "" {
		for _, name := range []string{"run_delay_ns", "on_cpu_ns", "blocked_ns"} {
			w.Missing(name, why)
		}
		return w
	}
	on, delay := run1-run0, delay1-delay0
	w.OnCPUNS, w.RunDelayNS = &on, &delay
	r.blocked(&w)
	return w
}

func (r *run) migrations(w *record.Worker, slot *pingpong.Slot) {
	switch {
	case r.model(w.Role) == "goroutine":
		w.Missing("migrations", goroutineWhy)
	case slot.Migrations0 < 0 || slot.Migrations1 < 0:
		w.Missing("migrations", noMigrations)
	default:
		n := slot.Migrations1 - slot.Migrations0
		w.Migrations = &n
	}
}

func (r *run) noConnect(role string) string {
	switch {
	case role == record.Server:
		return "a server connects to nobody"
	case r.workload.Unconnected:
		return "in " + r.workload.Name + " nobody is connected before the window opens"
	case r.workload.Wiring == pingpong.Alone:
		return "in " + r.workload.Name + " nobody connects"
	case r.workload.Wiring == pingpong.Shared:
		return "the clients share one connection, made before they were started"
	}
	return fmt.Sprintf("the ends of a %s are made connected", r.cell.Address)
}

type usage struct {
	cpu          record.CPU
	switches     record.Switches
	minor, major int64
}

func usageDiff(a, b *unix.Rusage) usage {
	return usage{
		cpu:      record.CPU{User: b.Utime.Nano() - a.Utime.Nano(), System: b.Stime.Nano() - a.Stime.Nano()},
		switches: record.Switches{Voluntary: int64(b.Nvcsw - a.Nvcsw), Involuntary: int64(b.Nivcsw - a.Nivcsw)},
		minor:    int64(b.Minflt - a.Minflt),
		major:    int64(b.Majflt - a.Majflt),
	}
}

// schedstat reads the first two numbers of /proc/PID/task/TID/schedstat: ns on
// CPU and ns runnable but waiting (Documentation/scheduler/sched-stats.rst).
func schedstat(slot *pingpong.Slot, s *pingpong.Snapshot) (run, delay int64, why string) {
	if slot.StatErrno != 0 {
		return 0, 0, noSchedstat(syscall.Errno(slot.StatErrno))
	}
	if s.StatLen <= 0 {
		return 0, 0, "schedstat could not be read: " + syscall.Errno(-s.StatLen).Error()
	}
	fields := bytes.Fields(s.Stat[:min(s.StatLen, int64(len(s.Stat)))])
	if len(fields) < 3 {
		return 0, 0, "schedstat has a form that is not known"
	}
	run, err := strconv.ParseInt(string(fields[0]), 10, 64)
	delay, err2 := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || err2 != nil {
		return 0, 0, "schedstat has a form that is not known"
	}
	return run, delay, ""
}

// throughput divides operations by elapsed time: between the midpoints of the
// first and last reading of the counters, or under --ops between the first
// start and the last end of those whose operations count.
func (r *run) throughput() {
	rec := r.rec
	counts := r.workload.Counts()
	var ops uint64
	var seconds float64
	if turns := r.turns; turns != nil {
		for _, t := range turns {
			rec.Slices, rec.SliceNS = append(rec.Slices, t.Ops), append(rec.SliceNS, t.NS)
			ops += t.Ops
			seconds += float64(t.NS) / 1e9
		}
		warm := r.window.warmup.Seconds()
		rec.WarmupS = &warm
		rec.Missing("scan_ns", "the counters of a paired run are read at its own turns only")
	} else if edges := r.window.edges; edges != nil {
		var scan, longest int64
		for i, e := range edges {
			scan = max(scan, e.scan)
			if i > 0 {
				rec.Slices = append(rec.Slices, e.ops-edges[i-1].ops)
				rec.SliceNS = append(rec.SliceNS, e.mid-edges[i-1].mid)
				longest = max(longest, e.mid-edges[i-1].mid)
			}
		}
		first, last := edges[0], edges[len(edges)-1]
		ops, seconds = last.ops-first.ops, float64(last.mid-first.mid)/1e9
		rec.ScanNS = &scan
		if slice := (last.mid - first.mid) / int64(len(edges)-1); scan*200 > slice {
			r.warn("reading all counters took up to %v, over 0.5 %% of a slice", time.Duration(scan))
		}
		if asked := int64(r.opt.Slice); longest > asked*8/5 {
			r.warn("the coordinator was late: a slice of %v instead of %v (rates are by true time)", time.Duration(longest).Round(time.Millisecond), r.opt.Slice)
		}
		if got := last.mid - first.mid; got > int64(r.opt.Window)*101/100+int64(time.Millisecond) {
			r.warn("the window was open for %v instead of %v (rates are by true time)", time.Duration(got).Round(time.Millisecond), r.opt.Window)
		}
		warm := r.window.warmup.Seconds()
		rec.WarmupS = &warm
	} else {
		begin, end := int64(1<<62), int64(0)
		for i := range r.workers() {
			if role, _ := r.role(i); role == counts {
				slot := r.memory.Slot(i)
				ops += slot.Ops
				begin, end = min(begin, slot.StartNS), max(end, slot.EndNS)
			}
		}
		seconds = float64(end-begin) / 1e9
		for _, name := range []string{"slices", "scan_ns"} {
			rec.Missing(name, "a run by --ops is not read in slices")
		}
		rec.Missing("warmup_s", "a run by --ops has no warm-up: its window is the whole of the load")
	}
	rate := float64(ops) / seconds
	rec.Ops, rec.WindowS, rec.OpsPerS = &ops, &seconds, &rate
}

// offered is the rate of an open loop's schedule.
func (r *run) offered() {
	interval := pingpong.Interval(r.cell)
	if interval == 0 {
		r.rec.Missing("offered_ops_per_s", "the loop is closed")
		return
	}
	rate := 1e9 * float64(r.clients) / float64(interval)
	r.rec.OfferedPerS = &rate
}

// effective is what the kernel made of what the cell asked it for.
func (r *run) effective() {
	var least map[string]int64
	for i := range r.workers() {
		for name, n := range r.memory.Slot(i).EffectiveValues() {
			if least == nil {
				least = map[string]int64{}
			}
			if old, ok := least[name]; !ok || n < old {
				least[name] = n
			}
		}
	}
	r.rec.Effective = least
	for _, line := range pingpong.Unlike(r.cell, least) {
		r.warn("%s", line)
	}
}

// messages says how many bytes went, and how many messages never came.
func (r *run) messages() {
	rec, w := r.rec, r.workload
	var bytes float64 // of one operation
	switch {
	case w.Script != nil:
		var sum, ops float64
		for i := range r.clients {
			slot := r.memory.Slot(i)
			sum += float64(slot.Bytes)
			ops += float64(slot.Ops)
		}
		bytes = sum / max(ops, 1)
	case w.Carries():
		bytes = float64(r.cell.Request + r.cell.Response)
	}
	if bytes > 0 {
		rate := bytes * *rec.OpsPerS
		rec.BytesPerS = &rate
	} else {
		rec.Missing("bytes_per_s", "an operation of "+w.Name+" carries no message")
	}
	if lock := r.cell.Params["lock"]; lock == "" || lock == "none" {
		rec.Missing("user_lock_takings", "the server has no lock of its own here")
		rec.Missing("user_lock_waits", "the server has no lock of its own here")
	} else {
		var waits, takings uint64
		for i := range r.workers() {
			if role, _ := r.role(i); role == record.Server {
				waits += r.memory.Slot(i).LockWaits
				takings += r.memory.Slot(i).Ops
			}
		}
		rec.LockTakings, rec.LockWaits = &takings, &waits
	}
	switch {
	case w.Operation != pingpong.Message:
		rec.Missing("lost_messages", "an operation is over when its own message has come")
	case w.ReadersLeave:
		rec.Missing("lost_messages", "the readers leave first, and what is in the buffer then is nobody's")
	default:
		var sent, came uint64
		for i := range r.workers() {
			if role, _ := r.role(i); role == record.Client {
				sent += r.memory.Slot(i).Ops
			} else {
				came += r.memory.Slot(i).Ops
			}
		}
		if came > sent {
			rec.Missing("lost_messages", fmt.Sprintf("the counts disagree: %d sent, %d received", sent, came))
			return
		}
		lost := sent - came
		rec.LostMessages = &lost
	}
}

// fairness is Jain's index over the clients' operations inside the window.
func (r *run) fairness() {
	if r.clients == 1 {
		r.rec.Missing("fairness", "one client has nobody to share with")
		return
	}
	sum, squares := 0.0, 0.0
	for _, w := range r.rec.Workers {
		if w.Role == record.Client {
			sum += float64(w.Ops)
			squares += float64(w.Ops) * float64(w.Ops)
		}
	}
	if squares == 0 {
		r.rec.Missing("fairness", "no client did an operation")
		return
	}
	index := sum * sum / squares / float64(r.clients)
	r.rec.Fairness = &index
}

func (r *run) latency() {
	var h histogram.Histogram
	var why string
	switch {
	case r.cell.Clock == "none":
		why = "operations were not timed (--clock none)"
	case r.workload.Counts() == record.Server:
		why = pingpong.StampsUnavailable(r.cell)
	}
	if why == "" {
		for i := range r.workers() {
			if s := r.memory.Slot(i); s.LatCount > 0 {
				histogram.AddCounts(&h, s.Hist[:], s.LatSum, int64(s.LatMin), int64(s.LatMax))
			}
		}
		if h.Count() == 0 {
			why = "no operation was timed inside the window"
		}
	}
	if why != "" {
		r.rec.Missing("latency_ns", why)
		r.rec.Missing("histogram", why)
		return
	}
	r.rec.LatencyOf = r.workload.LatencyOf(r.cell.Params["rate"])
	l := h.Latency()
	r.rec.LatencyNS, r.rec.Histogram = l, h.Record()
}

func (r *run) connects() {
	var s *record.Spread
	n, sum := 0, 0.0
	for _, w := range r.rec.Workers {
		if w.ConnectNS == nil {
			continue
		}
		if s == nil {
			s = &record.Spread{Min: *w.ConnectNS, Max: *w.ConnectNS}
		}
		s.Min, s.Max = min(s.Min, *w.ConnectNS), max(s.Max, *w.ConnectNS)
		sum += float64(*w.ConnectNS)
		n++
	}
	if s == nil {
		r.rec.Missing("connect_ns", r.noConnect(record.Client))
		return
	}
	s.Avg = sum / float64(n)
	r.rec.ConnectNS = s
}

// roles sums the workers of each role, and the roles to the run's totals.
func (r *run) roles() {
	r.rec.Roles = map[string]record.Role{}
	if r.cell.OneProcess && r.cell.Model == "goroutine" {
		r.rec.Roles["client+server"] = r.processRole(r.procs, r.workers())
	} else {
		for _, name := range []string{record.Client, record.Server} {
			var procs []*process
			for _, p := range r.procs {
				if slices.ContainsFunc(p.spec.Workers, func(w pingpong.WorkerSpec) bool { return w.Role == name }) {
					procs = append(procs, p)
				}
			}
			if len(procs) == 0 {
				continue
			}
			if r.model(name) == "goroutine" {
				r.rec.Roles[name] = r.processRole(procs, len(procs[0].spec.Workers))
			} else {
				r.rec.Roles[name] = r.workerRole(name, len(procs))
			}
		}
	}
	r.totals()
}

// workerRole sums the snapshots of a role's threads.
func (r *run) workerRole(name string, procs int) record.Role {
	role := record.Role{Processes: procs}
	var cpu record.CPU
	var sw record.Switches
	var delay int64
	counted, delayed := 0, 0
	for _, w := range r.rec.Workers {
		if w.Role != name {
			continue
		}
		role.Workers++
		if w.CPUNS == nil {
			continue
		}
		counted++
		role.Ops += w.SnapshotOps
		cpu.User += w.CPUNS.User
		cpu.System += w.CPUNS.System
		sw.Voluntary += w.Switches.Voluntary
		sw.Involuntary += w.Switches.Involuntary
		if w.RunDelayNS != nil {
			delayed++
			delay += *w.RunDelayNS
		}
	}
	if counted > 0 {
		role.CPUNS, role.Switches = &cpu, &sw
	}
	if counted > 0 && delayed == counted {
		role.RunDelayNS = &delay
	}
	if counted < role.Workers {
		r.warn("%d of %d %ss were starved: they took no snapshots of their own and are left out of what an operation cost", role.Workers-counted, role.Workers, name)
	}
	return role
}

// processRole takes the snapshots of processes whose goroutines have none.
func (r *run) processRole(procs []*process, workers int) record.Role {
	role := record.Role{Processes: len(procs), Workers: workers}
	var cpu record.CPU
	var sw record.Switches
	for _, p := range procs {
		slot := r.memory.Slot(p.spec.Process)
		role.GOMAXPROCS = int(slot.GOMAXPROCS)
		if slot.Open.Taken == 0 || slot.Close.Taken == 0 {
			return role
		}
		u := usageDiff(&slot.Open.Usage, &slot.Close.Usage)
		cpu.User += u.cpu.User
		cpu.System += u.cpu.System
		sw.Voluntary += u.switches.Voluntary
		sw.Involuntary += u.switches.Involuntary
		for _, ws := range p.spec.Workers {
			s := r.memory.Slot(ws.Slot)
			role.Ops += s.Close.Ops - s.Open.Ops
		}
	}
	role.CPUNS, role.Switches = &cpu, &sw
	return role
}

// totals adds the roles up; a total that would lack a part is absent.
func (r *run) totals() {
	rec := r.rec
	var cpu record.CPU
	var sw record.Switches
	var delay, moves int64
	var noUsage, noDelay, noMoves string
	for name, role := range rec.Roles {
		if role.CPUNS == nil {
			noUsage = "no " + name + " took snapshots at both edges of the window"
			continue
		}
		cpu.User += role.CPUNS.User
		cpu.System += role.CPUNS.System
		sw.Voluntary += role.Switches.Voluntary
		sw.Involuntary += role.Switches.Involuntary
		if role.RunDelayNS != nil {
			delay += *role.RunDelayNS
		}
	}
	for _, w := range rec.Workers {
		if w.CPUNS == nil && r.model(w.Role) != "goroutine" {
			noUsage = fmt.Sprintf("%s %d: %s", w.Role, w.Index, w.Unavailable["cpu_ns"])
		}
		if w.RunDelayNS == nil {
			noDelay = fmt.Sprintf("%s %d: %s", w.Role, w.Index, w.Unavailable["run_delay_ns"])
		}
		if w.Migrations == nil {
			noMoves = fmt.Sprintf("%s %d: %s", w.Role, w.Index, w.Unavailable["migrations"])
		} else {
			moves += *w.Migrations
		}
	}
	if noUsage == "" {
		rec.CPUNS, rec.Switches = &cpu, &sw
	} else {
		rec.Missing("cpu_ns", noUsage)
		rec.Missing("switches", noUsage)
	}
	if noUsage+noDelay == "" {
		rec.RunDelayNS = &delay
	} else {
		rec.Missing("run_delay_ns", noUsage+noDelay)
	}
	if noMoves == "" {
		rec.Migrations = &moves
	} else {
		rec.Missing("migrations", noMoves)
	}
}

// startSkew is the time between the first and the last worker's passing gate 2.
func (r *run) startSkew() {
	first, last := r.memory.Slot(0).StartNS, r.memory.Slot(0).StartNS
	for i := range r.workers() {
		s := r.memory.Slot(i)
		first, last = min(first, s.StartNS), max(last, s.StartNS)
	}
	skew := last - first
	r.rec.StartSkewNS = &skew
}

func (r *run) errors() {
	var ops uint64
	for i := range r.workers() {
		if role, _ := r.role(i); role == r.workload.Counts() {
			ops += r.memory.Slot(i).Ops
		}
	}
	r.rec.ErrorsOps = &ops
	for _, w := range r.rec.Workers {
		for name, n := range w.Errors {
			if r.rec.Errors == nil {
				r.rec.Errors = map[string]uint64{}
			}
			r.rec.Errors[name] += n
		}
	}
}

func (r *run) warn(format string, args ...any) {
	r.rec.Warnings = append(r.rec.Warnings, fmt.Sprintf(format, args...))
}
