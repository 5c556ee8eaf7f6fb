package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/series"
)

// Part is one part of the time of an operation, summed over both roles, in
// nanoseconds an operation, with the 95 % interval of its change.
type Part struct {
	Name      string  `json:"name"` // wall, on CPU, user, system, waiting for a CPU, asleep, off CPU, lock wait
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

// The parts that a record gives. On CPU, waiting for a CPU and asleep make up
// wall; where the latter two cannot be told apart they are off CPU together.
const (
	wall     = "wall"
	onCPU    = "on CPU"
	user     = "user"
	system   = "system"
	runnable = "waiting for a CPU"
	asleep   = "asleep"
	offCPU   = "off CPU"
	lockWait = "lock wait"
)

// inOtherTurns is why the wait for a CPU is not known of runs that took turns.
const inOtherTurns = "workers that take turns end their last operation in the turn of another, and wait and sleep in it too"

// partsOf takes one run apart. Each role's figures are divided by the
// operations of that role, whose workers' time in the window is theirs in
// wall; roles of a round trip overlap, so wall is more than its latency. Parts
// that the record does not have are absent, and unknown says why.
func partsOf(r *record.Run) (parts map[string]float64, unknown map[string]string) {
	if len(r.Roles) == 0 || r.WindowS == nil {
		return nil, nil
	}
	parts, unknown = map[string]float64{}, map[string]string{}
	add := func(name string, v *int64, ops float64, why string) {
		if v != nil {
			parts[name] += float64(*v) / ops
		} else if unknown[name] == "" {
			unknown[name] = why
		}
	}
	inTurns := turnShare(r)
	for _, name := range slices.Sorted(maps.Keys(r.Roles)) {
		role := r.Roles[name]
		if role.Ops == 0 {
			return nil, nil
		}
		ops := float64(role.Ops)
		why := func(figure string) string {
			for _, path := range []string{"roles." + name + "." + figure, "roles." + name + ".time." + figure, "roles." + name + ".time", figure} {
				if text := r.Unavailable[path]; text != "" {
					return text
				}
			}
			return "the records do not have it"
		}
		if role.CPUNS == nil {
			add(user, nil, ops, why("cpu_ns"))
			add(system, nil, ops, why("cpu_ns"))
		} else {
			add(user, &role.CPUNS.User, ops, "")
			add(system, &role.CPUNS.System, ops, "")
		}
		var on, waited, slept *int64
		var whole int64
		if t := role.Time; t != nil && t.Ops > 0 {
			// Each thread's own windows, which its times make up.
			whole, on, waited, slept = t.WallNS, &t.OnNS, t.RunnableNS, t.BlockedNS
			ops = float64(t.Ops)
		} else {
			// From the sums and the length of the window.
			whole = int64(*r.WindowS * 1e9 * float64(role.Workers))
			if role.CPUNS != nil {
				sum := role.CPUNS.User + role.CPUNS.System
				on = &sum
			}
		}
		add(wall, &whole, ops*inTurns, "")
		add(onCPU, on, ops, why("cpu_ns"))
		notApart := why("runnable_ns")
		if r.Paired != nil {
			notApart = inOtherTurns
		}
		add(runnable, waited, ops, notApart)
		add(asleep, slept, ops, notApart)
	}
	for name := range unknown {
		delete(parts, name)
	}
	if on, ok := parts[onCPU]; ok && unknown[runnable] != "" {
		// Snapshots and windows differ by moments.
		parts[offCPU] = math.Max(0, parts[wall]-on)
	}
	return parts, unknown
}

// turnShare is the share of a run's operations that it did in its own turns: the
// workers' own counts hold those too that they ended when the next one's turn
// had come. 1 where it had the machine to itself.
func turnShare(r *record.Run) float64 {
	w, err := pingpong.Lookup(r.Cell.Workload)
	if r.Paired == nil || r.Ops == nil || err != nil {
		return 1
	}
	all := r.Roles[w.Counts()].Ops
	if all == 0 {
		return 1
	}
	return float64(*r.Ops) / float64(all)
}

// fewTicks is the least number of ticks that the split into user and system
// may rest on.
const fewTicks = 100

// timeSplit takes the change of a cell apart; nil where the records do not
// have what it takes. Where the cell's runs are pairs, so are its parts.
func timeSplit(c *Cell, before, after Side) *TimeSplit {
	t := &TimeSplit{}
	add := func(name string, b, a []float64, of, other bool) bool {
		var d *Difference
		switch {
		case other:
			d = Welch(b, a, false)
		case c.Diff != nil && c.Diff.Paired:
			d = Pairs(b, a, !c.Diff.sets)
		default:
			d = Welch(b, a, c.Pair.Unit == UnitRun)
		}
		if d == nil {
			return false
		}
		m1, _, _ := moments(b)
		m2, _, _ := moments(a)
		t.Parts = append(t.Parts, Part{name, m1, m2, d.Log, d.Lo, d.Hi, of, other})
		return true
	}
	b, a, unknown := partsOfUnits(c)
	if b[runnable] != nil && a[runnable] != nil {
		delete(b, offCPU) // some runs tell the two apart: these are enough
	}
	for _, name := range []string{wall, onCPU, system, user, runnable, asleep, offCPU} {
		of := name == system || name == user
		if of {
			if why := splitWithheld(c, before, after); why != "" {
				if name == system {
					t.Withheld = append(t.Withheld, "user and system apart: "+why)
				}
				continue
			}
		}
		if add(name, b[name], a[name], of, false) || of || name == offCPU {
			continue
		}
		why := unknown[name]
		if why == "" {
			why = "too few records have it"
		}
		if name == asleep && why == unknown[runnable] {
			t.Withheld[len(t.Withheld)-1] = "waiting for a CPU and asleep apart: " + why
			continue
		}
		t.Withheld = append(t.Withheld, name+": "+why)
	}
	if len(t.Parts) < 2 {
		return nil
	}
	waitsB, _ := waits(before, c.Before, "")
	waitsA, _ := waits(after, c.After, "")
	add(lockWait, waitsB, waitsA, true, true)
	return t
}

// partsOfUnits gives the parts of a cell's units, before and after: of each
// unit, or of each block that has both sides where the cell's runs are pairs.
// A part that not all units have is left out; unknown says why one is lacking.
func partsOfUnits(c *Cell) (before, after map[string][]float64, unknown map[string]string) {
	unknown = map[string]string{}
	of := func(groups [][]series.Point) map[string][]float64 {
		figures := map[string][]float64{}
		for _, points := range groups {
			sums, n := map[string]float64{}, map[string]float64{}
			for _, p := range points {
				parts, why := partsOf(p.Run)
				for name, v := range parts {
					sums[name] += v
					n[name]++
				}
				maps.Copy(unknown, why)
			}
			for name := range sums {
				figures[name] = append(figures[name], sums[name]/n[name])
			}
		}
		maps.DeleteFunc(figures, func(_ string, vs []float64) bool { return len(vs) < len(groups) })
		return figures
	}
	units := func(s *Sample) (groups [][]series.Point) {
		for _, u := range s.Units {
			groups = append(groups, u.Points)
		}
		return groups
	}
	g1, g2 := units(c.Before), units(c.After)
	if c.Diff != nil && c.Diff.Paired {
		g1, g2 = inPlaces(c.Before, c.After)
	}
	return of(g1), of(g2), unknown
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

// lines says the split for a person, a line a part.
func (t *TimeSplit) lines() (head string, rows [][]string, withheld []string) {
	rows = [][]string{{"", "before", "after", "change", "between (95 % sure)", ""}}
	for _, p := range t.Parts {
		name, note := p.Name, ""
		if p.OfWhich {
			name = "  of it " + name
		}
		if p.OtherRuns {
			note = "in instrumented runs"
		}
		rows = append(rows, []string{name, micro(p.Before), micro(p.After), signed(p.Change), signed(p.Lo) + " … " + signed(p.Hi), note})
	}
	for _, w := range t.Withheld {
		withheld = append(withheld, "not available: "+w)
	}
	return "time of an operation in µs, both ends added (they may overlap)", rows, withheld
}

func (t *TimeSplit) reason() Reason {
	var parts []string
	for _, p := range t.Parts {
		name := p.Name
		switch {
		case p.Name == wall:
			parts = append(parts, fmt.Sprintf("time of an operation, both ends added (they may overlap): %s → %s µs", micro(p.Before), micro(p.After)))
			continue
		case p.OfWhich:
			name = "of it " + name
		}
		text := fmt.Sprintf("%s %s (%s … %s)", name, signed(p.Change), signed(p.Lo), signed(p.Hi))
		if p.OtherRuns {
			text += " in instrumented runs"
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	for _, w := range t.Withheld {
		text += "; not available: " + w
	}
	return Reason{Kind: "time", Text: text, Data: t}
}

// micro writes nanoseconds as microseconds.
func micro(ns float64) string { return digits(ns / 1e3) }

// signed writes a change in nanoseconds as microseconds.
func signed(ns float64) string {
	if ns < 0 {
		return "-" + digits(-ns/1e3)
	}
	return "+" + digits(ns/1e3)
}

// digits writes three digits that mean something, and no exponent.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
