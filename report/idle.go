package report

import (
	"fmt"

	"udsbench/plan"
	"udsbench/record"
)

const (
	// sleepy is from which part of an operation's time on waking CPUs from idle
	// states is worth a warning.
	sleepy = 0.25
	// guestWake is what a hypervisor may take to run a halted CPU again, in ns: tens
	// of µs are usual.
	guestWake = 100_000
)

// idle looks for cells whose operations were to a good part the waking of CPUs
// from idle states. What the switches of instrumented runs tell is measured.
// Without them the states' own latencies are the most that it can have been,
// since they are entered for other reasons too; of a virtual machine's the
// hypervisor's part is not known, and how often CPUs went idle is all there is.
func idle(rows []Row, runs []record.Run, id identity, guest bool) (out []string) {
	var measured, bounded, unknown worst
	mend := "idle=poll on the kernel's command line takes it out" // no driver heeds a bound
	for i := range rows {
		r := &rows[i]
		if exit, wall, known := idleExit(r.Cell, runs); known {
			if part := exit / wall; part > sleepy {
				if r.idleUse().each > 0 {
					mend = "--idle-latency 0 takes it out"
				}
				measured.add(part, fmt.Sprintf("%s, %s of a client's %s", id.name(r.Cell), Nanoseconds(exit), Nanoseconds(wall)))
			}
			continue
		}
		u := r.idleUse()
		if u.each == 0 {
			continue
		}
		if part := u.wake / u.each; part > sleepy {
			bounded.add(part, fmt.Sprintf("%s, up to %s of %s, mostly from %s", id.name(r.Cell), Nanoseconds(min(u.wake, u.each)), Nanoseconds(u.each), u.state))
		} else if part := u.entries * guestWake / u.each; guest && part > sleepy {
			unknown.add(part, fmt.Sprintf("%s, %s times in %s", id.name(r.Cell), digits(u.entries), Nanoseconds(u.each)))
		}
	}
	if measured.n > 0 {
		out = append(out, "waiting for CPUs to leave idle states, as measured at the switches, took much of an operation "+measured.in(rows)+": "+mend)
	}
	if bounded.n > 0 {
		out = append(out, "waking CPUs from idle states took much of an operation "+bounded.in(rows)+": --idle-latency 0 takes it out")
	}
	if unknown.n > 0 {
		out = append(out, "CPUs went idle during operations "+unknown.in(rows)+", and what a hypervisor takes to wake one no idle state tells: --instrument sched measures it, --idle-latency 0 takes most of it out")
	}
	return out
}

// idleExit is what the cell's instrumented runs tell of a client's operation,
// in ns: how long it waited for a CPU to leave idle, and how long it was.
func idleExit(c record.Cell, runs []record.Run) (exit, wall float64, known bool) {
	var all switchedRole
	for _, x := range runs {
		if x.Kind == record.Instrumented && x.Status == record.OK && x.Sched != nil && plan.Key(x.Cell) == plan.Key(c) {
			all.add(x.Sched.Roles[record.Client], x.Roles[record.Client].Time)
		}
	}
	if all.ops == 0 {
		return 0, 0, false
	}
	n := float64(all.ops)
	return all.idle / n, all.wall / n, true
}

// idleUse is how a cell's CPUs went idle, for one client's operation.
type idleUse struct {
	each    float64 // ns that it took; 0: nothing is known
	entries float64 // into states that take time to wake from
	wake    float64 // ns that these take, as their driver says
	state   string  // the one that most of it is of
}

func (r *Row) idleUse() (u idleUse) {
	var ops, seconds, most float64
	for _, x := range r.OK {
		if x.Host == nil || x.Host.Idle == nil || x.Ops == nil || x.WindowS == nil {
			continue
		}
		ops += float64(*x.Ops)
		seconds += *x.WindowS
		for _, s := range x.Host.Idle {
			if s.LatencyUS > 0 {
				u.entries += float64(s.Entries)
			}
			ns := 1000 * float64(s.Entries) * float64(s.LatencyUS)
			if u.wake += ns; ns > most {
				most, u.state = ns, s.State
			}
		}
	}
	if ops == 0 {
		return idleUse{}
	}
	u.each = 1e9 * seconds * float64(r.Cell.Parallel) / ops
	u.entries /= ops
	u.wake /= ops
	return u
}
