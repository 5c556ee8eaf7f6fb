package compare

import (
	"fmt"
	"slices"
	"strings"
)

// reason finds, for the cells that moved, what the data say about why.
func (p *Pair) reason(in Input, before, after Side) {
	p.Ladders = p.ladders(in.Factors)
	for _, l := range p.Ladders {
		l.fit()
		// A lock can only have changed with the kernel.
		if !slices.ContainsFunc(in.Factors, func(f string) bool { _, ok := field(l.Rungs[0].Cell, f); return ok }) {
			l.attribute(p, before, after)
		}
	}
	for _, c := range p.Cells {
		if c.Verdict.Moved() {
			if c.split = timeSplit(c, before, after); c.split != nil {
				c.Reasons = append(c.Reasons, c.split.reason())
			}
		}
	}
	for _, l := range p.Ladders {
		shared := l.reasons()
		for _, c := range l.Rungs {
			if c.Verdict.Moved() {
				c.Reasons = append(c.Reasons, shared...)
			}
		}
	}
}

// fit lays the scalability law through both sides of the ladder.
func (l *Ladder) fit() {
	if len(l.Rungs) < 2 || l.Rungs[0].Metric.LowerIsBetter {
		return
	}
	for side := range l.Fits {
		var ns []int
		var xs []float64
		for _, c := range l.Rungs {
			s := [2]*Sample{c.Before, c.After}[side]
			for _, u := range s.Units {
				ns, xs = append(ns, c.Cell.Parallel), append(xs, u.Mean())
			}
		}
		l.Fits[side] = FitUSL(ns, xs)
	}
}

// reasons are those that all rungs share.
func (l *Ladder) reasons() []Reason {
	var rs []Reason
	for _, x := range l.Crossings {
		if x.worth(l) {
			rs = append(rs, Reason{Kind: "crossing", Text: x.text(l), Data: x})
		}
	}
	if b, a := l.Fits[0], l.Fits[1]; b != nil && a != nil {
		p := l.Rungs[0].Pair
		text := "scaling law: " + b.text(p.Before) + "; " + a.text(p.After)
		if b.Refused != "" && b.Refused == a.Refused {
			text = "scaling law: no fit: " + b.Refused
		}
		rs = append(rs, Reason{Kind: "scaling", Text: text, Data: map[string]*USL{"before": b, "after": a}})
	}
	for _, a := range l.Attributed {
		var lines []string
		for _, c := range a.Conditions {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", c.Name, c.Holds, c.Text))
		}
		rs = append(rs, Reason{Kind: "attribution", Text: a.Text + ". " + strings.Join(lines, ". "), Data: a})
	}
	return rs
}
