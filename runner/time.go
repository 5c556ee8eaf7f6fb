package runner

import (
	"fmt"
	"time"

	"udsbench/record"
)

// lag bounds by how much a thread's account of its time on CPU may be behind
// when the thread reads it: the kernel brings it up to date at switches and at
// ticks, of which the longest in use is 10 ms.
const lag = 10 * time.Millisecond

// blocked fills in what is left of the worker's window beside its time on a
// CPU and its wait for one, so that the three make up the window.
func (r *run) blocked(w *record.Worker) {
	if r.turns != nil {
		w.Missing("blocked_ns", parked)
		return
	}
	if w.OnCPUNS == nil || w.RunDelayNS == nil {
		w.Missing("blocked_ns", w.Unavailable["run_delay_ns"])
		return
	}
	left := w.WindowNS - *w.OnCPUNS - *w.RunDelayNS
	if left < -int64(lag) {
		w.Missing("blocked_ns", fmt.Sprintf("the kernel's accounts disagree: on CPU and waiting for one make %v more than the window", time.Duration(-left)))
		return
	}
	if left < 0 {
		*w.OnCPUNS += left // the account was behind at the window's opening
		left = 0
	}
	w.BlockedNS = &left
}

const parked = "the time between its snapshots holds the turns of others, while it was parked"

// times sums where the windows of each role's threads went.
func (r *run) times() {
	for name, role := range r.rec.Roles {
		if why := r.noTime(name); why != "" {
			r.rec.Missing("roles."+name+".time", why)
			continue
		}
		t := &record.Time{Source: onCPUSource}
		var runnable, asleep, off int64
		whole := true
		for _, w := range r.rec.Workers {
			if w.Role != name || w.CPUNS == nil {
				continue
			}
			t.Threads++
			t.Ops += w.SnapshotOps
			t.WallNS += w.WindowNS
			if w.BlockedNS == nil {
				whole = false
				on := min(w.CPUNS.User+w.CPUNS.System, w.WindowNS)
				t.OnNS += on
				off += w.WindowNS - on
				continue
			}
			t.OnNS += *w.OnCPUNS
			runnable += *w.RunDelayNS
			asleep += *w.BlockedNS
		}
		switch {
		case t.Threads == 0:
			r.rec.Missing("roles."+name+".time", "no "+name+" took snapshots at both edges of the window")
			continue
		case whole:
			t.RunnableNS, t.BlockedNS = &runnable, &asleep
		default:
			off += runnable + asleep
			t.OffNS = &off
			t.Source = "getrusage(RUSAGE_THREAD)"
			r.rec.Missing("roles."+name+".time.runnable_ns", r.noRunnable(name))
			r.rec.Missing("roles."+name+".time.blocked_ns", r.noRunnable(name))
		}
		role.Time = t
		r.rec.Roles[name] = role
	}
	r.switched()
}

func (r *run) noTime(role string) string {
	switch {
	case role == "client+server" || r.model(role) == "goroutine":
		return goroutineWhy
	case r.turns != nil:
		return parked
	}
	return ""
}

func (r *run) noRunnable(role string) string {
	for _, w := range r.rec.Workers {
		if w.Role == role && w.CPUNS != nil && w.BlockedNS == nil {
			return fmt.Sprintf("%s %d: %s", w.Role, w.Index, w.Unavailable["blocked_ns"])
		}
	}
	return ""
}

// disagreement is how far the switches and the kernel's own accounts may be
// apart, as a part of the window, before a run warns of it.
const disagreement = 0.05

// switched sums, in a run whose switches were watched, where each role's
// threads were by them, and compares that with the workers' own snapshots.
func (r *run) switched() {
	if r.rec.Sched == nil {
		return
	}
	seen := map[int]record.ThreadTime{}
	for _, t := range r.rec.Sched.Threads {
		if t.Unavailable == "" && t.LifeNS > 0 {
			seen[t.TID] = t
		}
	}
	roles := map[string]record.SwitchTime{}
	for _, w := range r.rec.Workers {
		t, ok := seen[w.TID]
		if !ok {
			continue
		}
		s := roles[w.Role]
		s.Threads++
		s.WallNS += t.LifeNS
		s.OnNS += t.OnNS
		s.IdleExitNS += t.IdleExitNS
		s.BehindNS += t.RunnableNS + t.BeingWokenNS - t.IdleExitNS
		s.AsleepNS += t.BlockedNS - t.BeingWokenNS
		if t.Clock != nil {
			if s.ClockOnNS == nil {
				s.ClockOnNS = new(int64)
			}
			*s.ClockOnNS += t.Clock.OnNS
		}
		roles[w.Role] = s
	}
	if len(roles) > 0 {
		r.rec.Sched.Roles = roles
	}
	r.agree(seen)
}

// agree compares what the switches tell of the workers' waiting and sleeping
// with what the workers' own snapshots leave over. Each has a window of its own:
// parts are compared.
func (r *run) agree(seen map[int]record.ThreadTime) {
	a := &record.Agreement{}
	var theirs, ours float64
	why := "no worker's time is known from both its switches and its snapshots"
	for _, w := range r.rec.Workers {
		t, ok := seen[w.TID]
		switch {
		case !ok || w.BlockedNS == nil || w.WindowNS == 0:
			continue
		case t.Clock == nil:
			why = "the clock that schedstat goes by cannot be read: the kernel has no CONFIG_FAIR_GROUP_SCHED"
			continue
		}
		part := func(theirs, ours int64) float64 {
			return abs(float64(theirs)/float64(t.LifeNS) - float64(ours)/float64(w.WindowNS))
		}
		a.Threads++
		theirs, ours = theirs+float64(t.LifeNS), ours+float64(w.WindowNS)
		a.On += part(t.Clock.OnNS, *w.OnCPUNS)
		a.Runnable += part(t.Clock.RunnableNS, *w.RunDelayNS)
		a.Blocked += part(t.LifeNS-t.Clock.OnNS-t.Clock.RunnableNS, *w.BlockedNS)
	}
	if a.Threads == 0 {
		r.rec.Missing("sched.agreement", why)
		return
	}
	n := float64(a.Threads)
	a.On, a.Runnable, a.Blocked = a.On/n, a.Runnable/n, a.Blocked/n
	r.rec.Sched.Agreement = a
	if max(a.On, a.Runnable, a.Blocked) > disagreement {
		r.warn("workers' own accounts and their switches disagree by %.1f %% of the window on time on CPU, %.1f %% on waiting, %.1f %% on sleep (their own windows are %v long on average, the trace's %v)",
			100*a.On, 100*a.Runnable, 100*a.Blocked, time.Duration(ours/n).Round(100*time.Microsecond), time.Duration(theirs/n).Round(100*time.Microsecond))
	}
}

func abs(v float64) float64 { return max(v, -v) }

// maxStarved bounds the starved workers that a record names.
const maxStarved = 100

// shares says on whom the operations fell. A server that may be left without
// work is not starved.
func (r *run) shares() {
	s := &record.Shares{}
	first := true
	for _, w := range r.rec.Workers {
		share := record.Share{Role: w.Role, Index: w.Index, Ops: w.Ops}
		if w.Role == record.Client {
			if first || share.Ops < s.Slowest.Ops {
				s.Slowest = share
			}
			if first || share.Ops > s.Fastest.Ops {
				s.Fastest = share
			}
			first = false
		}
		if w.StarvedSlices > 0 && !(w.Role == record.Server && r.workload.IdleServers) {
			if s.Hungry++; s.Hungry <= maxStarved {
				s.Starved = append(s.Starved, share)
			}
		}
	}
	r.rec.Shares = s
	if r.window.edges == nil {
		r.rec.Missing("shares.starved", r.rec.Workers[0].Unavailable["starved_slices"])
	}
}

// accounting notes how the kernel accounts for CPU time.
func (r *run) accounting() {
	if a := r.opt.Accounting; a.Unknown != "" {
		r.rec.Missing("cpu_accounting", a.Unknown)
	} else if a.Mode == "" {
		r.rec.Missing("cpu_accounting", "not told by whoever started the run")
	} else {
		r.rec.Accounting = &a
	}
}
