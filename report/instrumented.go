package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"udsbench/compare"
	"udsbench/histogram"
	"udsbench/plan"
	"udsbench/record"
)

// instrumented says what the cell's instrumented runs saw, each instrument's
// lines behind what it cost.
func instrumented(c record.Cell, runs []record.Run, opt Options) []string {
	var watched []record.Run
	var plain []*float64
	for _, x := range runs {
		if x.Status != record.OK || plan.Key(x.Cell) != plan.Key(c) {
			continue
		}
		if x.Kind == record.Instrumented {
			watched = append(watched, x)
		} else {
			plain = append(plain, x.OpsPerS)
		}
	}
	if len(watched) == 0 {
		return nil
	}
	return slices.Concat(prices(watched, plain, opt.Discard), switched(c, watched, opt), counted(watched), causes(watched))
}

// prices says what the instruments took of the runs that they watched. Only
// runs that one of them watched alone tell its own price.
func prices(watched []record.Run, plain []*float64, discard int) (lines []string) {
	sets := map[string][]record.Run{}
	var order []string
	for _, x := range watched {
		var names []string
		for _, i := range x.Instruments {
			names = append(names, i.Name)
		}
		if len(names) == 0 {
			continue // none could run
		}
		key := strings.Join(names, ", ")
		if sets[key] == nil {
			order = append(order, key)
		}
		sets[key] = append(sets[key], x)
	}
	for _, key := range order {
		runs, names := sets[key], strings.Split(key, ", ")
		var rates []*float64
		for _, x := range runs {
			rates = append(rates, x.OpsPerS)
		}
		parts := []string{""}
		if price, why := compare.PriceOf(plain, rates, names, discard); price != nil {
			parts[0] = price.String()
		} else {
			parts[0] = "throughput not available: " + why
		}
		for at, name := range names {
			if text := ownTime(runs, at); text != "" && len(names) > 1 {
				parts = append(parts, name+": "+text)
			} else if text != "" {
				parts = append(parts, text)
			}
		}
		lines = append(lines, "the price of "+key+" (instrumented): "+strings.Join(parts, "; "))
	}
	return lines
}

// ownTime is what the instrument at that place among a run's took by itself,
// in all runs together; "" where nobody counts it.
func ownTime(runs []record.Run, at int) string {
	var self, calls, lost, window int64
	cpus := 0
	for _, x := range runs {
		i := x.Instruments[at]
		if i.SelfNS == nil || i.Calls == nil || i.WindowNS == nil || i.Lost == nil {
			return ""
		}
		self, calls, window, lost, cpus = self+*i.SelfNS, calls+*i.Calls, window+*i.WindowNS, lost+*i.Lost, i.CPUs
	}
	text := fmt.Sprintf("programs' own time, by the kernel's count, %s in %s calls", Nanoseconds(float64(self)), Count(float64(calls)))
	if whole := float64(window) * float64(cpus); whole > 0 {
		text += fmt.Sprintf(" (%.2f %% of all CPU time)", 100*float64(self)/whole)
	}
	return text + fmt.Sprintf(", %d events lost", lost)
}

// maxSleeps is how many sites of sleep are named.
const maxSleeps = 3

// switched says what was seen at the switches.
func switched(c record.Cell, watched []record.Run, opt Options) []string {
	sites := map[string]int64{}
	slept := int64(0)
	moves := map[string]int64{}
	wakes := map[string]int64{}
	roles := map[string]*switchedRole{}
	var seconds float64
	var all, idle, behind histogram.Coarse
	var agreements []record.Agreement
	n := 0
	why, noAgreement := "", ""
	workers := true
	for _, x := range watched {
		if x.Sched == nil {
			why = cmp.Or(why, x.Unavailable["sched"])
			continue
		}
		n++
		if x.WindowS != nil {
			seconds += *x.WindowS
		}
		for _, s := range x.Sched.Sleeps {
			sites[s.Site] += s.TotalNS
			slept += s.TotalNS
		}
		workers = workers && x.Sched.Roles != nil
		for name, s := range x.Sched.Roles {
			if roles[name] == nil {
				roles[name] = &switchedRole{}
			}
			roles[name].add(s, x.Roles[name].Time)
		}
		opt.byDistance(moves, x.Sched.Moves, x.Sched.MovesByDistance)
		opt.byDistance(wakes, x.Sched.Wakes, x.Sched.WakesByDistance)
		all.Merge(histogram.CoarseFromRecord(x.Sched.WakeupNS, x.Sched.WakeupHistogram))
		idle.Merge(histogram.CoarseFromRecord(x.Sched.WakeupIdleNS, x.Sched.WakeupIdleHistogram))
		behind.Merge(histogram.CoarseFromRecord(x.Sched.WakeupBehindNS, x.Sched.WakeupBehindHistogram))
		if a := x.Sched.Agreement; a != nil {
			agreements = append(agreements, *a)
		} else {
			noAgreement = cmp.Or(noAgreement, x.Unavailable["sched.agreement"])
		}
	}
	switch {
	case n == 0 && why != "":
		return []string{"why they slept is not known: " + why}
	case n == 0:
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		if text := roles[name].text(name); text != "" {
			lines = append(lines, text)
		}
	}
	if slept > 0 {
		order := slices.SortedFunc(maps.Keys(sites), func(a, b string) int {
			return cmp.Or(cmp.Compare(sites[b], sites[a]), cmp.Compare(a, b))
		})
		var parts []string
		for _, s := range order[:min(len(order), maxSleeps)] {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", s, 100*float64(sites[s])/float64(slept)))
		}
		whose := ""
		if !workers || c.Model == "goroutine" || c.ServerModel == "goroutine" {
			whose = "; all threads of the processes, idle ones too"
		}
		lines = append(lines, "slept in (instrumented"+whose+"): "+strings.Join(parts, ", "))
	}
	if all.Count > 0 {
		text := "from wake-up to CPU (instrumented): " + quantiles(all)
		if idle.Count > 0 && behind.Count > 0 {
			text += fmt.Sprintf("; where the CPU was idle (%.0f %% of wake-ups) %s, behind another thread %s",
				100*float64(idle.Count)/float64(idle.Count+behind.Count), quantiles(idle), quantiles(behind))
		} else if idle.Count > 0 {
			text += "; the CPU was idle each time"
		} else if behind.Count > 0 {
			text += "; behind another thread each time"
		}
		lines = append(lines, text)
	}
	for _, f := range []struct {
		what string
		by   map[string]int64
	}{{"threads changed CPU", moves}, {"wake-ups went from CPU to CPU", wakes}} {
		if seconds == 0 || len(f.by) == 0 {
			continue
		}
		var parts []string
		for _, d := range slices.Sorted(maps.Keys(f.by)) {
			parts = append(parts, fmt.Sprintf("%s %s", Count(float64(f.by[d])/seconds), d))
		}
		lines = append(lines, f.what+" (instrumented), a second: "+strings.Join(parts, ", "))
	}
	if text := agreed(agreements); text != "" {
		lines = append(lines, text)
	} else if noAgreement != "" {
		lines = append(lines, "whether its switches and the threads' own accounts agree is not known: "+noAgreement)
	}
	return lines
}

func quantiles(h histogram.Coarse) string {
	return fmt.Sprintf("median %s, 99 %% within %s", Nanoseconds(float64(h.Quantile(0.5))), Nanoseconds(float64(h.Quantile(0.99))))
}

// agreed says how far the switches and the threads' own accounts are apart.
func agreed(as []record.Agreement) string {
	if len(as) == 0 {
		return ""
	}
	var mean, worst record.Agreement
	for _, a := range as {
		mean.On, mean.Runnable, mean.Blocked = mean.On+a.On, mean.Runnable+a.Runnable, mean.Blocked+a.Blocked
		worst.On, worst.Runnable, worst.Blocked = max(worst.On, a.On), max(worst.Runnable, a.Runnable), max(worst.Blocked, a.Blocked)
	}
	n := float64(len(as))
	text := fmt.Sprintf("its switches, by the run queue's clock, and the threads' own accounts differ by %.1f %% of the window on time on CPU, %.1f %% on waiting, %.1f %% on sleep",
		100*mean.On/n, 100*mean.Runnable/n, 100*mean.Blocked/n)
	if len(as) > 1 {
		text += fmt.Sprintf(" (mean of %d runs; at most %.1f, %.1f and %.1f)", len(as), 100*worst.On, 100*worst.Runnable, 100*worst.Blocked)
	}
	return text
}

// switchedRole is where the time of one role's operations went, in parts of
// the time that the role's threads had for them.
type switchedRole struct {
	ops                            uint64
	wall, on, behind, idle, asleep float64 // ns by the threads' own windows
	charged                        float64 // time on CPU by the run queue's clock
	chargedKnown                   bool
	n                              int
}

func (r *switchedRole) add(s record.SwitchTime, t *record.Time) {
	if t == nil || t.Ops == 0 || s.WallNS == 0 {
		return
	}
	r.ops += t.Ops
	scale := float64(t.WallNS) / float64(s.WallNS)
	r.wall += float64(t.WallNS)
	r.on += scale * float64(s.OnNS)
	r.behind += scale * float64(s.BehindNS)
	r.idle += scale * float64(s.IdleExitNS)
	r.asleep += scale * float64(s.AsleepNS)
	r.chargedKnown = (r.n == 0 || r.chargedKnown) && s.ClockOnNS != nil
	if s.ClockOnNS != nil {
		r.charged += scale * float64(*s.ClockOnNS)
	}
	r.n++
}

func (r *switchedRole) text(name string) string {
	if r.ops == 0 {
		return ""
	}
	n := float64(r.ops)
	u := unitOf(r.wall / n)
	text := fmt.Sprintf("%s at its switches (instrumented): of %s %s per operation, %s on a CPU, %s waiting behind another thread, %s for a CPU to leave idle, %s asleep until somebody began to wake it",
		name, u.of(r.wall/n), u.name, u.of(r.on/n), u.of(r.behind/n), u.of(r.idle/n), u.of(r.asleep/n))
	if r.chargedKnown {
		text += fmt.Sprintf("; schedstat would say %s on a CPU (a switch counts from the wake-up that asked for it)", u.of(r.charged/n))
	}
	return text
}

// causes says why the machine switched, where a FreeBSD kernel counts it.
func causes(watched []record.Run) []string {
	sums := map[string]int64{}
	var seconds float64
	why := ""
	for _, x := range watched {
		why = cmp.Or(why, x.Unavailable["switch_causes"])
		if x.SwitchCauses == nil || x.WindowS == nil {
			continue
		}
		seconds += *x.WindowS
		for name, n := range x.SwitchCauses {
			sums[name] += n
		}
	}
	if seconds == 0 {
		if why != "" {
			return []string{"why the machine switched is not known: " + why}
		}
		return nil
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	}) {
		if sums[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", Count(float64(sums[name])/seconds), name))
		}
	}
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	return []string{"switches of the whole machine by cause (instrumented; kern.sched.stats), a second: " + strings.Join(parts, ", ")}
}

// counted says what the counters of the cell's instrumented runs counted, by
// role, for one operation.
func counted(runs []record.Run) []string {
	type sum struct {
		count            float64
		ops              uint64
		enabled, running int64
	}
	sums := map[string]map[string]*sum{}
	var roles, events []string
	absent := map[string][]string{} // events by reason
	for _, x := range runs {
		for name, why := range x.Unavailable {
			if rest, ok := strings.CutPrefix(name, "counters"); ok {
				name = cmp.Or(strings.TrimPrefix(rest, "."), "counters")
				if !slices.Contains(absent[why], name) {
					absent[why] = append(absent[why], name)
				}
			}
		}
		for _, r := range x.Counters {
			if sums[r.Role] == nil {
				sums[r.Role] = map[string]*sum{}
				roles = append(roles, r.Role)
			}
			for _, e := range r.Events {
				s := sums[r.Role][e.Event]
				if s == nil {
					s = &sum{}
					sums[r.Role][e.Event] = s
				}
				if !slices.Contains(events, e.Event) {
					events = append(events, e.Event)
				}
				s.count += float64(e.Count)
				s.ops += r.Ops
				s.enabled += e.EnabledNS
				s.running += e.RunningNS
			}
		}
	}
	var lines []string
	for _, role := range roles {
		var parts []string
		for _, e := range events {
			if s := sums[role][e]; s != nil && s.ops > 0 {
				v := s.count / float64(s.ops)
				text := Count(v) + " " + e
				if e == "task-clock" {
					text = Nanoseconds(v) + " " + e
				}
				if 1000*s.running < 999*s.enabled {
					text += fmt.Sprintf(" (it had a counter for %.0f %% of the time)", 100*float64(s.running)/float64(s.enabled))
				}
				parts = append(parts, text)
			}
		}
		lines = append(lines, role+" per operation (instrumented): "+strings.Join(parts, ", "))
	}
	for _, why := range slices.Sorted(maps.Keys(absent)) {
		lines = append(lines, "not counted: "+strings.Join(slices.Sorted(slices.Values(absent[why])), ", ")+": "+why)
	}
	return lines
}

// byDistance adds to sums what moved between CPUs, by the distance that the
// record names, or else by the one that the machine at hand has.
func (o Options) byDistance(sums map[string]int64, pairs []record.CPUPair, named map[string]int64) {
	for d, n := range named {
		sums[d] += n
	}
	if named == nil {
		for _, p := range pairs {
			sums[o.distance(p)] += p.N
		}
	}
}

// distance names how far the two CPUs of a pair are apart.
func (o Options) distance(p record.CPUPair) string {
	switch {
	case p.From == p.To:
		return "on the same CPU"
	case o.Distance == nil:
		return "between CPUs"
	}
	class, _ := o.Distance(p.From, p.To)
	return class
}
