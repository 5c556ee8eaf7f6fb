package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"udsbench/layout"
	"udsbench/series"
)

// WriteTable prints the result for a person who knows no statistics, no wider
// than width columns where that can be.
func (r *Result) WriteTable(w io.Writer, width int) error {
	var b strings.Builder
	for _, n := range r.Notes {
		layout.Paragraph(&b, width, "note: ", n)
	}
	for _, t := range r.Warnings {
		layout.Paragraph(&b, width, "warning: ", t)
	}
	for i, p := range r.Pairs {
		if i > 0 || b.Len() > 0 {
			b.WriteByte('\n')
		}
		for j, m := range r.Input.Metrics {
			if j > 0 {
				b.WriteByte('\n')
			}
			r.table(&b, width, p, m)
		}
		r.why(&b, width, p)
	}
	b.WriteByte('\n')
	layout.Paragraph(&b, width, "", r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) table(b *strings.Builder, width int, p *Pair, m series.Metric) {
	var cells []*Cell
	for _, c := range p.Cells {
		if c.Metric.Name == m.Name {
			cells = append(cells, c)
		}
	}
	layout.Paragraph(b, width, "before: ", fmt.Sprintf("%s (%s)", p.Before, size(cells, func(c *Cell) *Sample { return c.Before }, p.lost[0])))
	layout.Paragraph(b, width, "after:  ", fmt.Sprintf("%s (%s)", p.After, size(cells, func(c *Cell) *Sample { return c.After }, p.lost[1])))
	what := meaning(m, cells)
	if p.Only != "" {
		what += "; what is said holds for " + p.Only
	}
	layout.Paragraph(b, width, "", what)
	n := newNames(cells, r.Input.Factors)
	if s := n.shared(); s != "" {
		layout.Paragraph(b, width, "every cell: ", s)
	}
	first := true
	for _, c := range r.Confounders {
		if c.Before == p.Before && c.After == p.After {
			if first {
				b.WriteString("differs besides what is meant to:\n")
				first = false
			}
			layout.Paragraph(b, width, "  ", c.Text)
		}
	}
	b.WriteByte('\n')
	header := append([]string{"#"}, n.varying...)
	rows := [][]string{append(header, "before", "after", "change", "between (95 % sure)", "verdict")}
	for _, c := range cells {
		row := append([]string{strconv.Itoa(c.Number)}, n.values(c)...)
		ratio := "-"
		if !math.IsNaN(c.Ratio) {
			ratio = change(c.Ratio)
		}
		rows = append(rows, append(row, figure(c.Before.center(), m.Unit), figure(c.After.center(), m.Unit), ratio, interval(c.Diff), c.word()))
	}
	layout.Columns(b, width, "", rows)
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

// fullSplits is up to how many cells that moved have every part of their time
// printed; more have a line each, and --explain the rest.
const fullSplits = 2

// why prints the reasons: of each cell that moved its own, and once what a
// ladder's cells share.
func (r *Result) why(b *strings.Builder, width int, p *Pair) {
	var text strings.Builder
	var cells []*Cell
	for _, c := range p.Cells {
		if c.split != nil {
			cells = append(cells, c)
		}
	}
	if len(cells) <= fullSplits {
		for _, c := range cells {
			head, rows, withheld := c.split.lines()
			layout.Paragraph(&text, width, fmt.Sprintf("  #%d ", c.Number), head)
			layout.Columns(&text, width, "     ", rows)
			for _, w := range withheld {
				layout.Paragraph(&text, width, "     ", w)
			}
		}
	} else {
		splits(&text, width, cells)
	}
	for _, l := range p.Ladders {
		numbers := make([]string, len(l.Rungs))
		for i, c := range l.Rungs {
			numbers[i] = strconv.Itoa(c.Number)
		}
		at := "  #" + strings.Join(numbers, ",") + " "
		for _, x := range l.Crossings {
			if x.worth(l) {
				layout.Paragraph(&text, width, at, x.text(l))
			}
		}
		if !slices.ContainsFunc(l.Rungs, func(c *Cell) bool { return c.Verdict.Moved() }) {
			continue
		}
		for i, f := range l.Fits {
			if other := l.Fits[1-i]; f != nil && (f.Refused == "" || other.Refused == "") {
				layout.Paragraph(&text, width, at+"scaling law, ", f.text([]string{p.Before, p.After}[i]))
			}
		}
		for _, a := range l.Attributed {
			layout.Paragraph(&text, width, at, a.Text)
			layout.Columns(&text, width, "     ", a.rows())
		}
	}
	if text.Len() > 0 {
		b.WriteString("\nwhy:\n" + text.String())
	}
}

// splits prints the change of the time of an operation, a line a cell.
func splits(b *strings.Builder, width int, cells []*Cell) {
	names := []string{onCPU, runnable, asleep, offCPU, lockWait}
	part := func(c *Cell, name string) (Part, bool) {
		for _, p := range c.split.Parts {
			if p.Name == name {
				return p, true
			}
		}
		return Part{}, false
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(cells, func(c *Cell) bool { _, ok := part(c, name); return ok })
	})
	header := []string{"#", "before", "after"}
	for _, name := range names {
		if name == lockWait {
			name = "of it lock wait"
		}
		header = append(header, name)
	}
	rows := [][]string{header}
	for _, c := range cells {
		whole, _ := part(c, wall)
		row := []string{strconv.Itoa(c.Number), micro(whole.Before), micro(whole.After)}
		for _, name := range names {
			text := "-"
			if p, ok := part(c, name); ok {
				text = fmt.Sprintf("%s (%s … %s)", signed(p.Change), signed(p.Lo), signed(p.Hi))
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	layout.Paragraph(b, width, "  ", "time of an operation in µs, both ends added (they may overlap), and the change of its parts, in brackets between what (95 % sure); --explain N has more of cell N:")
	layout.Columns(b, width, "  ", rows)
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
		t += fmt.Sprintf("; without the figures of %s that failed", plural(runs, "run"))
	}
	return t
}

// WriteEffects prints main effects.
func WriteEffects(w io.Writer, effects []Effect, width int) error {
	var b strings.Builder
	b.WriteString("what each factor does on the average over all cells:\n\n")
	rows := [][]string{{"factor", "from", "to", "change", "between (95 % sure)", "cells", "from cell to cell"}}
	for _, e := range effects {
		among := "-"
		if e.Cells > 1 {
			factors := e.factors
			among = change(e.Least.Ratio)
			if change(e.Most.Ratio) == among {
				among += " in all"
			} else {
				among = fmt.Sprintf("%s (%s) … %s (%s)", change(e.Least.Ratio), e.Least.Pair.Name(e.Least, factors), change(e.Most.Ratio), e.Most.Pair.Name(e.Most, factors))
			}
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
	layout.Columns(&b, width, "", rows)
	b.WriteByte('\n')
	if only := effects[0].Only; only != "" {
		layout.Paragraph(&b, width, "", "What is said holds for "+only+".")
	}
	wide := false
	for _, e := range effects {
		wide = wide || e.Cells > 1
		if e.Least.Verdict.Moved() && e.Most.Verdict.Moved() && e.Least.Verdict != e.Most.Verdict {
			layout.Paragraph(&b, width, "", fmt.Sprintf("%s: %s is better than %s in some cells and worse in others, so that its average stands for neither: look at the cells (--factor %s alone).", e.Factor, e.After, e.Before, e.Factor))
		}
	}
	if wide {
		layout.Paragraph(&b, width, "", "Where the last column is wide, the average says little: the factor does different things in different cells.")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
