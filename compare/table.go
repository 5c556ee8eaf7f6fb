package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"udsbench/series"
)

// WriteTable prints the result for a person who knows no statistics.
func (r *Result) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, t := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", t)
	}
	for i, p := range r.Pairs {
		if i > 0 || b.Len() > 0 {
			b.WriteByte('\n')
		}
		for _, m := range r.Input.Metrics {
			r.table(&b, p, m)
		}
		r.why(&b, p)
	}
	b.WriteString("\n" + r.Summary() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) table(b *strings.Builder, p *Pair, m series.Metric) {
	var cells []*Cell
	for _, c := range p.Cells {
		if c.Metric.Name == m.Name {
			cells = append(cells, c)
		}
	}
	better := "higher is better"
	if m.LowerIsBetter {
		better = "lower is better"
	}
	what := "operations a second"
	if m.Name != series.Throughput.Name {
		what = m.Name + " of latency"
	}
	fmt.Fprintf(b, "before: %s (%s)\nafter:  %s (%s)\n%s, %s", p.Before, size(cells, func(c *Cell) *Sample { return c.Before }, p.lost[0]),
		p.After, size(cells, func(c *Cell) *Sample { return c.After }, p.lost[1]), what, better)
	if p.Only != "" {
		fmt.Fprintf(b, "; what is said holds for %s", p.Only)
	}
	b.WriteByte('\n')
	n := newNames(cells, r.Input.Factors)
	if s := n.shared(); s != "" {
		fmt.Fprintf(b, "every cell: %s\n", s)
	}
	first := true
	for _, c := range r.Confounders {
		if c.Before == p.Before && c.After == p.After {
			if first {
				b.WriteString("differs besides what is meant to:\n")
				first = false
			}
			fmt.Fprintf(b, "  %s\n", c.Text)
		}
	}
	b.WriteByte('\n')
	var rows [][]string
	header := append([]string{"#"}, n.varying...)
	rows = append(rows, append(header, "before", "after", "change", "between (95 % sure)", "verdict"))
	for _, c := range cells {
		row := append([]string{strconv.Itoa(c.Number)}, n.values(c)...)
		ratio := "-"
		if !math.IsNaN(c.Ratio) {
			ratio = change(c.Ratio)
		}
		rows = append(rows, append(row, figure(c.Before.center(), m.Unit), figure(c.After.center(), m.Unit), ratio, interval(c.Diff), c.word()))
	}
	align(b, rows)
}

// word is the verdict with all that goes with it, on one line.
func (c *Cell) word() string {
	t := string(c.Verdict)
	if len(c.Notes) > 0 {
		t += ": " + strings.Join(c.Notes, "; ")
	}
	if c.Need != nil && (c.Need.Boots != nil || c.Need.Runs != nil) {
		t += "; " + c.Need.Text(c.Pair.Unit)
	}
	return t
}

// size says how much was measured: "10 runs a cell, 5 boots, 1 boot lost".
func size(cells []*Cell, of func(*Cell) *Sample, lost int) string {
	without := ""
	if lost > 0 {
		without = ", " + plural(lost, "boot") + " lost"
	}
	lo, hi := [2]int{math.MaxInt, math.MaxInt}, [2]int{}
	imported := false
	for _, c := range cells {
		s := of(c)
		if len(s.Units) == 0 {
			continue
		}
		for i, n := range []int{s.Boots, len(s.Values())} {
			lo[i], hi[i] = min(lo[i], n), max(hi[i], n)
		}
		imported = imported || s.Units[0].Boot == ""
	}
	if hi[1] == 0 {
		return "no usable runs" + without
	}
	some := func(i int, what string) string {
		if lo[i] == hi[i] {
			return plural(lo[i], what)
		}
		return fmt.Sprintf("%d to %d %ss", lo[i], hi[i], what)
	}
	if imported {
		return some(1, "run") + " a cell" + without
	}
	return some(1, "run") + " a cell, " + some(0, "boot") + without
}

// why prints the reasons: of each cell that moved its own, and once what a
// ladder's cells share.
func (r *Result) why(b *strings.Builder, p *Pair) {
	var moved []*Cell
	for _, c := range p.Cells {
		if c.Verdict.Moved() {
			moved = append(moved, c)
		}
	}
	var lines []string
	for _, c := range moved {
		for _, reason := range c.Reasons {
			if reason.Kind == "time" {
				lines = append(lines, fmt.Sprintf("#%d %s", c.Number, reason.Text))
			}
		}
	}
	for _, l := range p.Ladders {
		numbers := make([]string, len(l.Rungs))
		for i, c := range l.Rungs {
			numbers[i] = strconv.Itoa(c.Number)
		}
		at := "#" + strings.Join(numbers, ",")
		isMoved := slices.ContainsFunc(l.Rungs, func(c *Cell) bool { return c.Verdict.Moved() })
		for _, x := range l.Crossings {
			if x.worth(l) {
				lines = append(lines, at+" "+x.text(l))
			}
		}
		if !isMoved {
			continue
		}
		for _, reason := range l.reasons() {
			if reason.Kind == "scaling" {
				lines = append(lines, at+" "+reason.Text)
			}
		}
		for _, a := range l.Attributed {
			lines = append(lines, at+" "+a.Text)
			for _, c := range a.Conditions {
				lines = append(lines, fmt.Sprintf("    %s: %s (%s)", c.Name, c.Holds, c.Text))
			}
		}
	}
	if len(lines) > 0 {
		b.WriteString("\nwhy:\n")
		for _, l := range lines {
			b.WriteString("  " + l + "\n")
		}
	}
}

// Summary counts the words.
func (r *Result) Summary() string {
	count := map[Verdict]int{}
	cells := r.Cells()
	runs := 0
	for _, c := range cells {
		count[c.Verdict]++
		runs += c.Before.Failed + c.After.Failed
	}
	t := fmt.Sprintf("%s: %d faster, %d slower, %d same (surely within %s), %d undecided (these runs cannot tell), %d failed",
		plural(len(cells), "cell"), count[Faster], count[Slower], count[Same], percent(r.Input.Threshold), count[Undecided], count[FailedCell])
	if runs > 0 {
		t += fmt.Sprintf("; %s failed and have no part in the figures", plural(runs, "run"))
	}
	return t
}

// WriteEffects prints main effects.
func WriteEffects(w io.Writer, effects []Effect) error {
	var b strings.Builder
	b.WriteString("what each factor does on the average over all cells:\n\n")
	rows := [][]string{{"factor", "from", "to", "change", "between (95 % sure)", "cells", "from cell to cell"}}
	for _, e := range effects {
		among := "-"
		if e.Cells > 1 {
			factors := []string{e.Factor}
			among = fmt.Sprintf("%s (%s) … %s (%s)", change(e.Least.Ratio), e.Least.Pair.Name(e.Least, factors), change(e.Most.Ratio), e.Most.Pair.Name(e.Most, factors))
		}
		cells := strconv.Itoa(e.Cells)
		if e.Missing > 0 {
			cells += fmt.Sprintf(" (%d more lack a side)", e.Missing)
		}
		factor := e.Factor
		if e.Metric.Name != series.Throughput.Name {
			factor += ", " + e.Metric.Name
		}
		rows = append(rows, []string{factor, e.Before, e.After, change(math.Exp(e.Log)), interval(e.Diff), cells, among})
	}
	align(&b, rows)
	if only := effects[0].Only; only != "" {
		fmt.Fprintf(&b, "\n%s; where the last column is wide, the average says little: the factor does different things in different cells\n", only)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// align writes rows in columns; the last column is not padded.
func align(b *strings.Builder, rows [][]string) {
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
}
