package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"udsbench/pingpong"
	"udsbench/record"
)

// Holds is whether a condition of the attribution rule holds.
type Holds string

const (
	Yes     Holds = "yes"
	No      Holds = "no"
	Unknown Holds = "not known"
)

// Condition is one sentence of the attribution rule.
type Condition struct {
	Name  string `json:"name"`
	Holds Holds  `json:"holds"`
	Text  string `json:"text"` // what was seen
}

// Attribution is the rule applied to one ladder and one scope of locks that
// its workload targets: "it is the lock" is said only when all conditions hold.
type Attribution struct {
	Scope      string      `json:"scope"`
	Conditions []Condition `json:"conditions"`
	Said       bool        `json:"said"`
	Text       string      `json:"text"`
}

// rows says the conditions for a person, a line each.
func (a Attribution) rows() [][]string {
	rows := [][]string{{"what it takes", "holds", "seen"}}
	for _, c := range a.Conditions {
		rows = append(rows, []string{c.Name, string(c.Holds), c.Text})
	}
	return rows
}

// lockNames says scopes in words.
var lockNames = map[string]string{
	"socket":      "the socket lock",
	"subsystem":   "a lock of the whole subsystem",
	"descriptors": "the lock of the descriptor table",
	"scheduler":   "the scheduler's locks",
}

// targets gives the scopes of locks for which a cell is a target. A workload
// targets the locks of local sockets only when it runs over them.
func targets(c record.Cell) []string {
	w, err := pingpong.Lookup(c.Workload)
	if err != nil || !strings.HasPrefix(c.Transport, "unix-") {
		return nil
	}
	return w.Targets
}

// isNull reports whether a cell must stay still when only a lock of the scope
// changes: for a lock of each socket, workloads that share no socket, and
// pipes; for a lock of the whole subsystem, pipes and TCP.
func isNull(c record.Cell, scope string) bool {
	if scope == "subsystem" {
		return c.Transport == "pipe" || c.Transport == "tcp"
	}
	w, err := pingpong.Lookup(c.Workload)
	return scope == "socket" && c.Transport == "pipe" ||
		err == nil && strings.HasPrefix(c.Transport, "unix-") && slices.Contains(w.Nulls, scope)
}

// attribute applies the rule to the ladder; nothing where nothing moved.
func (l *Ladder) attribute(p *Pair, before, after Side) {
	if len(l.Rungs) == 0 || l.Rungs[0].Metric.LowerIsBetter {
		return
	}
	for _, scope := range targets(l.Rungs[0].Cell) {
		var moved []*Cell
		for _, c := range l.Rungs {
			if c.Verdict.Moved() && c.Cell.Parallel > 1 {
				moved = append(moved, c)
			}
		}
		if len(moved) == 0 {
			continue
		}
		a := Attribution{Scope: scope, Conditions: []Condition{
			targetMoved(moved),
			nullsStill(p, moved, scope),
			l.scalingChanged(),
			waitFollowed(moved, scope, before, after),
			l.oneWorker(moved),
		}}
		name := lockNames[scope]
		if name == "" {
			name = "the lock of scope " + scope
		}
		var not, unknown []string
		for _, c := range a.Conditions {
			switch c.Holds {
			case No:
				not = append(not, c.Name)
			case Unknown:
				unknown = append(unknown, c.Name)
			}
		}
		switch a.Said = len(not)+len(unknown) == 0; {
		case a.Said:
			a.Text = "it is " + name
		case len(not) > 0:
			a.Text = fmt.Sprintf("it is not said to be %s, for this does not hold: %s", name, strings.Join(not, "; "))
		default:
			a.Text = fmt.Sprintf("it may be %s, but this is not known: %s", name, strings.Join(unknown, "; "))
		}
		l.Attributed = append(l.Attributed, a)
	}
}

func targetMoved(moved []*Cell) Condition {
	var at []string
	for _, c := range moved {
		at = append(at, fmt.Sprintf("%s at %d clients", change(c.Ratio), c.Cell.Parallel))
	}
	return Condition{"the targeted workload moved", Yes, moved[0].Cell.Workload + " " + strings.Join(at, ", ")}
}

// nullsStill looks at the null cells beside each rung that moved.
func nullsStill(p *Pair, moved []*Cell, scope string) Condition {
	c := Condition{Name: "its nulls did not move", Holds: Yes}
	var still, other []string
	lacking := 0
	for _, m := range moved {
		found := false
		for _, n := range p.Cells {
			if n.Metric.Name != m.Metric.Name || n.Cell.Parallel != m.Cell.Parallel || !isNull(n.Cell, scope) {
				continue
			}
			name := fmt.Sprintf("%s over %s at %d clients", n.Cell.Workload, n.Cell.Transport, n.Cell.Parallel)
			switch {
			case n.Verdict.Moved():
				c.Holds = No
				other = append(other, name+" "+change(n.Ratio))
			case n.Verdict == Same:
				found = true
				still = append(still, name)
			default:
				other = append(other, name+" is "+string(n.Verdict))
			}
		}
		if !found {
			lacking++
		}
	}
	if c.Holds == Yes && (lacking > 0 || len(other) > 0) {
		c.Holds = Unknown
	}
	switch {
	case len(other) > 0:
		c.Text = strings.Join(other, ", ")
	case len(still) > 0 && lacking == 0:
		c.Text = strings.Join(still, ", ") + " stayed the same"
	default:
		c.Text = "no null beside it in these sessions: add " + nullsFor(scope) + " at the same parallelism"
	}
	return c
}

func nullsFor(scope string) string {
	switch scope {
	case "socket":
		return "pingpong and a pipe"
	case "subsystem":
		return "a pipe and tcp"
	}
	return "a workload that is its null (udsbench list --json shows them)"
}

// scalingChanged compares the change at the highest rung with that at the
// lowest: it is no change of scaling where all rungs moved alike.
func (l *Ladder) scalingChanged() Condition {
	c := Condition{Name: "the scaling changed", Holds: Unknown, Text: "it takes two numbers of clients with intervals"}
	var with []*Cell
	for _, r := range l.Rungs {
		if r.Diff != nil {
			with = append(with, r)
		}
	}
	if len(with) < 2 || with[0].Cell.Parallel == with[len(with)-1].Cell.Parallel {
		return c
	}
	lo, hi := with[0], with[len(with)-1]
	d := &Difference{Log: hi.Diff.Log - lo.Diff.Log, SE: math.Hypot(lo.Diff.SE, hi.Diff.SE), DF: math.Min(lo.Diff.DF, hi.Diff.DF)}
	d.finish()
	c.Text = fmt.Sprintf("%s at %d clients against %s at %d", change(hi.Ratio), hi.Cell.Parallel, change(lo.Ratio), lo.Cell.Parallel)
	if c.Holds = No; d.Lo > 0 || d.Hi < 0 {
		c.Holds = Yes
	} else {
		c.Text += ": no more than their intervals allow"
	}
	if b, a := l.Fits[0], l.Fits[1]; b != nil && a != nil && b.Refused == "" && a.Refused == "" {
		c.Text += fmt.Sprintf("; contention %.3g → %.3g", b.Sigma.Value, a.Sigma.Value)
	}
	return c
}

// waitFollowed asks the instrumented runs whether waiting at the lock's sites
// went the other way than throughput.
func waitFollowed(moved []*Cell, scope string, before, after Side) Condition {
	c := Condition{Name: "waiting at that lock's site fell with it", Holds: Unknown, Text: "there are no instrumented runs of these cells (run --instrument)"}
	for _, m := range moved {
		b, why1 := waits(before, m.Before, classesOf[scope])
		a, why2 := waits(after, m.After, classesOf[scope])
		d := Welch(b, a, false)
		if d == nil {
			for _, why := range []string{why1, why2} {
				if why != "" {
					c.Text = why
				}
			}
			continue
		}
		up := m.Ratio > 1
		c.Text = fmt.Sprintf("%+.3g µs an operation (%+.3g … %+.3g) at %d clients", d.Log/1e3, d.Lo/1e3, d.Hi/1e3, m.Cell.Parallel)
		if up && d.Hi < 0 || !up && d.Lo > 0 {
			c.Holds = Yes
			continue
		}
		c.Holds = No
		return c
	}
	if c.Holds == Yes && moved[0].Ratio < 1 {
		c.Name = "waiting at that lock's site rose with it"
	}
	return c
}

// oneWorker is no null: what one client does is the uncontended cost. It must
// be smaller than the change at N, or opposite to it.
func (l *Ladder) oneWorker(moved []*Cell) Condition {
	c := Condition{Name: "one worker changed less, or the other way", Holds: Unknown, Text: "there is no cell with one client"}
	one := l.Rungs[0]
	if one.Cell.Parallel != 1 || math.IsNaN(one.Ratio) {
		return c
	}
	c.Holds = Yes
	c.Text = "the uncontended cost: throughput " + change(one.Ratio) + " with one client"
	for _, m := range moved {
		a, b := math.Log(one.Ratio), math.Log(m.Ratio)
		if a*b > 0 && math.Abs(a) >= math.Abs(b) {
			c.Holds = No
		}
	}
	return c
}

// change writes a ratio as "+4.3 %".
func change(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }
