package runner

import (
	"fmt"
	"time"

	"udsbench/environ"
	"udsbench/record"
)

// minForeign is how long must lie between the readings of the machine's busy
// time for it to mean something: ten ticks of 10 ms.
const minForeign = 100 * time.Millisecond

// host notes what the machine did while the window was open. The kernel counts
// busy time in ticks, so what is left for others is good to some ticks only and
// can come out below nothing, which is nothing.
func (r *run) host() {
	rec := r.rec
	d := r.window.host.Delta(r.window.after)
	h := map[string]*environ.Figure{"busy": &d.BusyNS, "steal_ns": &d.StealNS, "irq_ns": &d.IrqNS, "throttled": &d.Throttled, "freq_khz": &d.FreqKHz}
	for name, f := range h {
		if !f.OK() && name != "busy" {
			rec.Missing("host."+name, f.Why)
		}
	}
	host := record.Host{}
	host.StealNS, host.IrqNS, host.FreqKHz = figure(d.StealNS), figure(d.IrqNS), figure(d.FreqKHz)
	if d.Throttled.OK() {
		n := uint64(d.Throttled.Value)
		host.Throttled = &n
	}
	switch {
	case !d.BusyNS.OK():
		rec.Missing("host.foreign_cpu_ns", d.BusyNS.Why)
	case d.Wall < minForeign:
		rec.Missing("host.foreign_cpu_ns", fmt.Sprintf("the window of %v is too short for the kernel's ticks of 10 ms", d.Wall.Round(time.Millisecond)))
	case rec.CPUNS == nil:
		rec.Missing("host.foreign_cpu_ns", "the workers' own CPU time is not known: "+rec.Unavailable["cpu_ns"])
	default:
		own := rec.CPUNS.User + rec.CPUNS.System + r.window.own
		foreign := max(d.BusyNS.Value-own, 0)
		host.ForeignCPUNS = &foreign
	}
	var minor, major int64
	whole := true
	for _, w := range rec.Workers {
		if w.MinorFaults == nil || w.MajorFaults == nil {
			rec.Missing("host.minor_faults", w.Role+": "+w.Unavailable["minor_faults"])
			rec.Missing("host.major_faults", w.Role+": "+w.Unavailable["major_faults"])
			whole = false
			break
		}
		minor += *w.MinorFaults
		major += *w.MajorFaults
	}
	if whole {
		host.MinorFaults, host.MajorFaults = &minor, &major
	}
	if use, why := r.window.idle.since(r.window.idleAfter); why != "" {
		rec.Missing("host.idle", why)
	} else {
		host.Idle, host.IdleCPUs = use, len(r.idleCPUs())
	}
	rec.Host = &host
}

func figure(f environ.Figure) *int64 {
	if !f.OK() {
		return nil
	}
	return &f.Value
}
