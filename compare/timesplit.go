package compare

import (
	"fmt"
	"strconv"
	"strings"

	"udsbench/record"
)

// Part is one part of the time of an operation, summed over both roles, in
// nanoseconds an operation.
type Part struct {
	Name      string  `json:"name"` // wall, on CPU, user, system, waiting for a CPU, asleep, lock wait
	Before    float64 `json:"before_ns"`
	After     float64 `json:"after_ns"`
	Change    float64 `json:"change_ns"`
	Lo        float64 `json:"lo_ns"`
	Hi        float64 `json:"hi_ns"`
	OfWhich   bool    `json:"of_which,omitempty"` // is contained in the parts before it
	OtherRuns bool    `json:"other_runs,omitempty"`
}

// TimeSplit is the change of an operation's time, taken apart.
type TimeSplit struct {
	Parts    []Part   `json:"parts"`
	Withheld []string `json:"withheld,omitempty"` // parts that cannot be had, and why
}

// The parts that a record gives.
const (
	wall     = "wall"
	onCPU    = "on CPU"
	user     = "user"
	system   = "system"
	runnable = "waiting for a CPU"
	asleep   = "asleep"
	lockWait = "lock wait"
)

// partsOf takes one run apart. Each role's figures are divided by the
// operations of that role, whose workers' time in the window is theirs in
// wall; roles of a round trip overlap, so wall is more than its latency.
func partsOf(r *record.Run) map[string]float64 {
	parts := map[string]float64{}
	missing := map[string]bool{}
	add := func(name string, v *int64, ops uint64) {
		if v == nil {
			missing[name] = true
			return
		}
		parts[name] += float64(*v) / float64(ops)
	}
	for _, role := range r.Roles {
		if role.Ops == 0 || r.WindowS == nil {
			return nil
		}
		if role.CPUNS == nil {
			missing[user], missing[system] = true, true
		} else {
			add(user, &role.CPUNS.User, role.Ops)
			add(system, &role.CPUNS.System, role.Ops)
		}
		if t := role.Time; t != nil && t.Ops > 0 {
			// Each thread's own windows, which its times make up.
			add(wall, &t.WallNS, t.Ops)
			add(onCPU, &t.OnNS, t.Ops)
			add(runnable, t.RunnableNS, t.Ops)
			add(asleep, t.BlockedNS, t.Ops)
			continue
		}
		// From the sums and the length of the window, asleep being the rest.
		var cpu, rest *int64
		window := int64(*r.WindowS * 1e9 * float64(role.Workers))
		if role.CPUNS != nil {
			sum := role.CPUNS.User + role.CPUNS.System
			cpu = &sum
		}
		// Goroutines have no time of their own: what is neither on a CPU nor
		// runnable is not theirs alone.
		delay := role.RunDelayNS
		if role.GOMAXPROCS > 0 {
			delay = nil
		}
		if cpu != nil && delay != nil {
			// Snapshots and windows differ by moments: a small negative rest is none.
			left := max(0, window-*cpu-*delay)
			rest = &left
		}
		add(onCPU, cpu, role.Ops)
		add(runnable, delay, role.Ops)
		add(asleep, rest, role.Ops)
		add(wall, &window, role.Ops)
	}
	if len(r.Roles) == 0 {
		return nil
	}
	for name := range missing {
		delete(parts, name)
	}
	return parts
}

// fewTicks is the least number of ticks that the split into user and system
// may rest on.
const fewTicks = 100

// timeSplit takes the change of a cell apart; nil where the records do not
// have what it takes.
func timeSplit(c *Cell, before, after Side) *TimeSplit {
	figures := func(s *Sample, name string) []float64 {
		var vs []float64
		for _, u := range s.Units {
			sum, n := 0.0, 0.0
			for _, p := range u.Points {
				if v, ok := partsOf(p.Run)[name]; ok {
					sum, n = sum+v, n+1
				}
			}
			if n > 0 {
				vs = append(vs, sum/n)
			}
		}
		return vs
	}
	t := &TimeSplit{}
	add := func(name string, b, a []float64, of, other bool) bool {
		d := Welch(b, a, c.Pair.Unit == UnitRun && !other)
		if d == nil {
			return false
		}
		m1, _, _ := moments(b)
		m2, _, _ := moments(a)
		t.Parts = append(t.Parts, Part{name, m1, m2, d.Log, d.Lo, d.Hi, of, other})
		return true
	}
	for _, name := range []string{wall, onCPU, system, user, runnable, asleep} {
		of := name == system || name == user
		if of {
			if why := splitWithheld(c, before, after); why != "" {
				if name == system {
					t.Withheld = append(t.Withheld, "user and system apart: "+why)
				}
				continue
			}
		}
		if !add(name, figures(c.Before, name), figures(c.After, name), of, false) && !of {
			t.Withheld = append(t.Withheld, name+": the records do not have it")
		}
	}
	if len(t.Parts) < 2 {
		return nil
	}
	b, _ := waits(before, c.Before, "")
	a, _ := waits(after, c.After, "")
	add(lockWait, b, a, true, true)
	return t
}

// splitWithheld says why user and system time cannot be told apart; "" where
// they can.
func splitWithheld(c *Cell, before, after Side) string {
	for _, s := range []struct {
		sample *Sample
		side   Side
	}{{c.Before, before}, {c.After, after}} {
		mode, hz := "", 100.0
		for _, e := range s.side.Environments {
			mode = e["sched.cpu_accounting"]
			for _, path := range []string{"clock.hz", "clock.stat_hz"} {
				if v, err := strconv.ParseFloat(e[path], 64); err == nil && v > 0 {
					hz = v
				}
			}
		}
		for _, unit := range s.sample.Units {
			if a := unit.Points[0].Run.Accounting; a != nil && a.Mode != "" {
				mode = a.Mode
				if a.TickNS > 0 {
					hz = 1e9 / float64(a.TickNS)
				}
			}
		}
		if mode == "gen" || mode == "native" {
			continue
		}
		var u, sy float64
		for _, unit := range s.sample.Units {
			for _, p := range unit.Points {
				for _, role := range p.Run.Roles {
					if role.CPUNS != nil {
						u += float64(role.CPUNS.User)
						sy += float64(role.CPUNS.System)
					}
				}
			}
		}
		if ticks := (u + sy) / 1e9 * hz; ticks < 2*fewTicks {
			return fmt.Sprintf("%s has %.0f ticks of CPU time in all, and the split is sampled at ticks", s.sample.Side, ticks)
		}
	}
	return ""
}

func (t *TimeSplit) reason() Reason {
	var b strings.Builder
	for i, p := range t.Parts {
		switch {
		case p.Name == wall:
			fmt.Fprintf(&b, "time an operation, both ends added (they may overlap): %s → %s µs", micro(p.Before), micro(p.After))
			continue
		case i == 1 && t.Parts[0].Name == wall:
			b.WriteString("; ")
		default:
			b.WriteString(", ")
		}
		name := p.Name
		if p.OfWhich {
			name = "of which " + name
		}
		fmt.Fprintf(&b, "%s %+.3g (%+.3g … %+.3g)", name, p.Change/1e3, p.Lo/1e3, p.Hi/1e3)
		if p.OtherRuns {
			b.WriteString(" in instrumented runs")
		}
	}
	for _, w := range t.Withheld {
		b.WriteString("; not available: " + w)
	}
	return Reason{Kind: "time", Text: b.String(), Data: t}
}

func micro(ns float64) string { return strconv.FormatFloat(ns/1e3, 'g', 4, 64) }
