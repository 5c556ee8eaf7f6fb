package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"udsbench/plan"
	"udsbench/record"
	"udsbench/series"
)

// Side is one side of a comparison.
type Side struct {
	Name         string
	Runs         []record.Run      // of one or more sessions
	Lost         []record.LostBoot // boots of a campaign that ended before their runs did
	Environments []Environment     // of its sessions, each the JSON of environment.json, flattened
	Notes        []string          // what is to be known of its figures: said above the table
	Locks        []LockWait        // from instrumented runs; nil without any
}

// Input is what is compared, and how.
type Input struct {
	Sides     []Side          // each is set against the first
	Metrics   []series.Metric // nil: throughput
	Threshold float64         // practical threshold as a share: 0.02 is 2 %; from 0, under 1
	Discard   int             // first runs of each series to leave out, or series.Auto
	Unit      string          // UnitBoot, UnitRun, or "": what the data allow
	Factors   []string        // what is meant to differ: fields of a cell, or of the environment
	Together  bool            // the sides come from the same sessions: runs of one block belong together
}

// Result is all that was found.
type Result struct {
	Sides       []string
	Input       Input
	Pairs       []*Pair
	Confounders []Confounder
	Warnings    []string
	Notes       []string
}

// Pair is one side against the first.
type Pair struct {
	Before, After string
	Unit          string
	Only          string // "this boot only", or "" where boots are the unit
	Cells         []*Cell
	Ladders       []*Ladder

	together bool
	lost     [2]int // boots lost, before and after
}

// Cell is one cell of one pair, in one metric.
type Cell struct {
	Number        int         // from 1 over the whole result, as --explain takes it
	Cell          record.Cell // of the first side; fields that are factors are its
	Metric        series.Metric
	Pair          *Pair
	Before, After *Sample
	Diff          *Difference // nil: no interval can be had
	Ratio         float64     // of the means, after/before; NaN where a side is not usable
	Rank          float64     // p of the rank test beside it; NaN where it cannot be had
	Adjusted      float64     // Holm's p over all cells of the result; NaN without Diff
	Tests         int         // that Adjusted is adjusted for
	Trimmed       *Difference // without outliers; nil where there are none, or no interval
	Outliers      int
	Verdict       Verdict
	Notes         []string // what goes with the word
	Components    Components
	Need          *Need // where undecided
	Reasons       []Reason

	logs  []float64  // of the ratios, where they are pairs
	split *TimeSplit // nil where it did not move, or the records do not have it
}

// Reason is one thing that the data say about why a cell moved.
type Reason struct {
	Kind string `json:"kind"` // time, crossing, scaling, null, lock, attribution
	Text string `json:"text"`
	Data any    `json:"data,omitempty"`
}

// ErrNothing means that the sides have no cell in common.
var ErrNothing = errors.New("the two sides have no cell in common")

// Compare sets every side against the first.
func Compare(in Input) (*Result, error) {
	if len(in.Sides) < 2 {
		return nil, errors.New("a comparison needs two sides: name two sessions, or one and --factor, or one and --self")
	}
	if in.Threshold < 0 || in.Threshold >= 1 {
		return nil, fmt.Errorf("threshold %s is not between 0 %% and 100 %%", percent(in.Threshold))
	}
	if in.Metrics == nil {
		in.Metrics = []series.Metric{series.Throughput}
	}
	follow, said := followers(in.Sides, in.Factors)
	in.Factors = slices.Concat(in.Factors, follow)
	r := &Result{Input: in}
	for _, s := range in.Sides {
		r.Sides = append(r.Sides, s.Name)
	}
	r.Notes = append(notes(in.Sides), said...)
	for _, after := range in.Sides[1:] {
		p, err := compareTwo(in, in.Sides[0], after, r)
		if err != nil {
			return nil, err
		}
		r.Pairs = append(r.Pairs, p)
	}
	r.judge()
	for i, p := range r.Pairs {
		r.Confounders = append(r.Confounders, confounders(in, in.Sides[0], in.Sides[i+1], p)...)
		p.reason(in, in.Sides[0], in.Sides[i+1])
		r.Warnings = append(r.Warnings, p.warnings()...)
	}
	for _, s := range in.Sides {
		if len(s.Lost) > 0 {
			r.Warnings = append(r.Warnings, lostText(s))
		}
	}
	return r, nil
}

// lostText says which boots of a side were lost, and what ran then.
func lostText(s Side) string {
	var each []string
	for _, l := range s.Lost {
		t := "boot " + l.Boot
		if l.Kernel != "" {
			t += " of kernel " + l.Kernel
		}
		if l.Seq != nil {
			t += fmt.Sprintf(" in run %d", *l.Seq)
		}
		if c := l.Cell; c != nil {
			t += fmt.Sprintf(" (%s %s parallel %d)", c.Workload, c.Transport, c.Parallel)
		}
		each = append(each, t)
	}
	return fmt.Sprintf("%s lost %s, for which no figure stands: %s", s.Name, plural(len(s.Lost), "boot"), some(each))
}

// notes gives the sides' notes, each with the side that it is about where not
// all sides have it.
func notes(sides []Side) []string {
	var all []string
	for _, s := range sides {
		for _, n := range s.Notes {
			if !strings.HasPrefix(n, s.Name) && slices.ContainsFunc(sides, func(o Side) bool { return !slices.Contains(o.Notes, n) }) {
				n = s.Name + ": " + n
			}
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// Cells gives the cells of all pairs in order.
func (r *Result) Cells() []*Cell {
	var all []*Cell
	for _, p := range r.Pairs {
		all = append(all, p.Cells...)
	}
	return all
}

// Find gives the cell with that number, or the only one whose name has the text
// in it.
func (r *Result) Find(text string) (*Cell, error) {
	n, err := strconv.Atoi(text)
	var hits []*Cell
	for _, c := range r.Cells() {
		if err == nil && c.Number == n || err != nil && strings.Contains(c.Pair.Name(c, r.Input.Factors), text) {
			hits = append(hits, c)
		}
	}
	switch {
	case len(hits) == 0:
		return nil, fmt.Errorf("there is no cell %q: give its number in the table, or part of its name", text)
	case len(hits) > 1:
		return nil, fmt.Errorf("%q is in the names of %d cells: give the number in the table", text, len(hits))
	}
	return hits[0], nil
}

func compareTwo(in Input, before, after Side, r *Result) (*Pair, error) {
	p := &Pair{Before: before.Name, After: after.Name, together: in.Together, lost: [2]int{len(before.Lost), len(after.Lost)}}
	if err := distinct(before, after); err != nil {
		return nil, err
	}
	var err error
	if p.Unit, p.Only, err = unitOf(in.Unit, before, after); err != nil {
		return nil, err
	}
	common := 0
	for _, m := range in.Metrics {
		g1, order1 := byCell(before.Runs, m, in.Factors)
		g2, order2 := byCell(after.Runs, m, in.Factors)
		left1, left2 := discardOf(in.Discard, p.Unit, g1.all()), discardOf(in.Discard, p.Unit, g2.all())
		if in.Together {
			left1 = discardOf(in.Discard, p.Unit, slices.Concat(g1.all(), g2.all()))
			left2 = left1
		}
		for _, k := range order2 {
			if g1[k] == nil {
				order1 = append(order1, k)
			} else {
				common++
			}
		}
		var cells []*Cell
		for _, k := range order1 {
			c := &Cell{Metric: m, Pair: p, Ratio: math.NaN(), Rank: math.NaN(), Adjusted: math.NaN()}
			for _, all := range [][]*series.Series{g2[k], g1[k]} {
				if len(all) > 0 {
					c.Cell = all[0].Cell
				}
			}
			c.Before = sampleOf(before.Name, g1[k], p.Unit, left1)
			c.After = sampleOf(after.Name, g2[k], p.Unit, left2)
			c.measure()
			cells = append(cells, c)
		}
		last := boundToParallel(cells) // what changes with parallel has no say in the order
		slices.SortStableFunc(cells, func(a, b *Cell) int {
			return cmp.Or(plan.InOrder(blank(a.Cell, last), blank(b.Cell, last)), plan.InOrder(a.Cell, b.Cell))
		})
		for _, c := range cells {
			c.Number = 1 + r.count() + len(p.Cells)
			p.Cells = append(p.Cells, c)
		}
	}
	if common == 0 && len(before.Runs) > 0 && len(after.Runs) > 0 { // else all its boots were lost
		return nil, fmt.Errorf("%s and %s: %w; a field that is meant to differ is named with --factor", before.Name, after.Name, ErrNothing)
	}
	return p, nil
}

// distinct refuses a run that is there twice: on both sides it would be the
// same as itself with certainty, and on one side it would count as two.
func distinct(before, after Side) error {
	type key struct {
		session, boot, start string
		seq                  int
	}
	at := map[key]int{}
	for side, s := range []Side{before, after} {
		for i := range s.Runs {
			r := &s.Runs[i]
			if r.Start == "" {
				continue // imported: see copies
			}
			k := key{r.Session, r.Boot, r.Start, r.Seq}
			switch was, seen := at[k]; {
			case seen && was == side:
				return fmt.Errorf("run %d of session %s is there twice in %s: name each session once", r.Seq, r.Session, s.Name)
			case seen:
				return fmt.Errorf("run %d of session %s is on both sides: a session is set against itself with --self", r.Seq, r.Session)
			}
			at[k] = side
		}
	}
	if copies(before, after) {
		return fmt.Errorf("%s and %s hold the very same figures: one is a copy of the other", before.Name, after.Name)
	}
	return nil
}

// copies reports whether two sides of imported results are the same figures in
// the same order.
func copies(before, after Side) bool {
	const least = 3 // fewer, rounded, may agree by chance
	if len(before.Runs) < least || len(before.Runs) != len(after.Runs) {
		return false
	}
	for i := range before.Runs {
		a, b := &before.Runs[i], &after.Runs[i]
		if a.Start != "" || b.Start != "" || a.OpsPerS == nil || b.OpsPerS == nil || *a.OpsPerS != *b.OpsPerS || a.Boot+b.Boot != "" {
			return false
		}
	}
	return true
}

func (r *Result) count() int {
	n := 0
	for _, p := range r.Pairs {
		n += len(p.Cells)
	}
	return n
}

// groups holds the series of each cell, one for each boot.
type groups map[string][]*series.Series

func (g groups) all() []*series.Series {
	var all []*series.Series
	for _, s := range g {
		all = append(all, s...)
	}
	return all
}

// byCell groups series by their cell, less the fields that are factors.
func byCell(runs []record.Run, m series.Metric, factors []string) (groups groups, order []string) {
	groups = map[string][]*series.Series{}
	for _, s := range series.Of(runs, m) {
		k := plan.Key(blank(s.Cell, factors))
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	return groups, order
}

// unitOf says what the unit of replication is. Sides that share a boot were
// switched within it; results without a boot are imported.
func unitOf(asked string, before, after Side) (unit, only string, err error) {
	b1, known1 := boots(before.Runs)
	b2, known2 := boots(after.Runs)
	shared := false
	for b := range b1 {
		shared = shared || b2[b]
	}
	unit = UnitBoot
	if shared || !known1 || !known2 {
		unit = UnitRun
	}
	switch asked {
	case "":
	case UnitRun:
		unit = UnitRun
	case UnitBoot:
		switch {
		case !known1 || !known2:
			return "", "", errors.New("--unit boot: imported results name no boot; leave --unit out")
		case shared:
			return "", "", fmt.Errorf("--unit boot: %s and %s share a boot, so what differs was switched within it; leave --unit out", before.Name, after.Name)
		}
	default:
		return "", "", fmt.Errorf("--unit %s: there are boot and run", asked)
	}
	if unit == UnitRun {
		maps.Copy(b1, b2)
		n := len(b1)
		// Two boots that are not shared are one on each side.
		if only = fmt.Sprintf("these %d boots only", n); n <= 1 || n == 2 && !shared {
			only = "this boot only"
		}
	}
	return unit, only, nil
}

// boots gives the boots of runs; known is false where some run names none.
func boots(runs []record.Run) (set map[string]bool, known bool) {
	set, known = map[string]bool{}, true
	for i := range runs {
		if runs[i].Boot == "" {
			known = false
		} else {
			set[runs[i].Boot] = true
		}
	}
	return set, known
}

// measure computes everything about a cell that other cells have no part in.
func (c *Cell) measure() {
	for _, s := range []*Sample{c.Before, c.After} {
		if why := s.usable(); why != "" {
			c.Verdict = FailedCell
			c.Notes = append(c.Notes, why)
		}
	}
	if c.Verdict == FailedCell {
		return
	}
	ordered := c.Pair.Unit == UnitRun
	before, after := c.Before.Logs(), c.After.Logs()
	m1, _, _ := moments(before)
	m2, _, _ := moments(after)
	c.Ratio = math.Exp(m2 - m1)
	c.Components = components(c.Before, c.After)
	if ps, ok := pairUp(c.Before, c.After); ok && ordered && c.Pair.together {
		c.Diff, c.Rank = ps.test()
		c.Ratio = math.Exp(c.Diff.Log)
		for i := range ps.before {
			c.logs = append(c.logs, ps.after[i]-ps.before[i])
		}
	} else {
		c.Diff = Welch(before, after, ordered)
		if len(before) > 1 && len(after) > 1 {
			c.Rank = MannWhitney(before, after)
		}
	}
	if c.Diff != nil && c.Diff.exact() {
		c.Notes = append(c.Notes, "the figures repeat to the last digit: they are rounded, and their spread is not known")
	}
	t1, n1 := c.Before.withoutOutliers()
	t2, n2 := c.After.withoutOutliers()
	if c.Outliers = n1 + n2; c.Outliers > 0 && c.Diff != nil {
		if ps, ok := pairUp(t1, t2); ok && c.Diff.Paired {
			c.Trimmed, _ = ps.test()
		} else {
			c.Trimmed = Welch(t1.Logs(), t2.Logs(), ordered)
		}
	}
}

// judge adjusts the p-values over all cells and gives each its word.
func (r *Result) judge() {
	cells := r.Cells()
	ps := make([]float64, len(cells))
	tests := 0
	for i, c := range cells {
		ps[i] = math.NaN()
		if c.Diff != nil && !c.Diff.exact() {
			ps[i] = c.Diff.P
			tests++
		}
	}
	adjusted := Holm(ps)
	for i, c := range cells {
		if c.Verdict == FailedCell {
			continue
		}
		c.Adjusted, c.Tests = adjusted[i], tests
		var note string
		c.Verdict, note = decide(c.Diff, c.Adjusted, r.Input.Threshold, c.Metric)
		c.say(note)
		if c.Verdict == Undecided {
			c.need(r.Input.Threshold)
		}
		c.say(c.Pair.Only)
		if c.Trimmed != nil && c.Diff != nil {
			word, _ := decide(c.Trimmed, c.Trimmed.P*float64(tests), r.Input.Threshold, c.Metric)
			if word != c.Verdict {
				c.say(fmt.Sprintf("%s without %s", word, plural(c.Outliers, "outlier")))
			}
		}
		for _, s := range []*Sample{c.Before, c.After} {
			if s.Failed > 0 {
				c.say(fmt.Sprintf("%s of %s failed", plural(s.Failed, "run"), s.Side))
			}
		}
	}
}

func (c *Cell) say(note string) {
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
}

// need says what would decide the cell.
func (c *Cell) need(threshold float64) {
	n := min(len(c.Before.Units), len(c.After.Units))
	var need Need
	switch {
	case c.Diff == nil && c.Pair.Unit == UnitBoot:
		c.say("boot to boot unknown")
		need.Why = "with one boot a side nothing is known of how boots differ: measure at least 5 boots a side, or ask about this boot only with --unit run"
	case c.Diff == nil:
		c.say("one figure a side carries no spread")
		need.Why = "one figure a side carries no spread: measure at least 5 runs a side"
	case c.Diff.exact():
		need.Why = "the figures are rounded: give them with more digits"
	case c.Pair.Unit == UnitBoot:
		need = needBoots(c.Diff, c.Components, threshold, c.Tests)
	default:
		need = needRuns(c.Diff, threshold, c.Tests)
	}
	if n > 1 && need.Boots == nil && need.Runs == nil && need.Why == "" {
		need.Why = fmt.Sprintf("not even %d more would do", needLimit)
	}
	c.Need = &need
}

// Text says what would decide, in a few words.
func (n *Need) Text(unit string) string {
	var ways []string
	if n.Boots != nil {
		ways = append(ways, fmt.Sprintf("%s a side", plural(*n.Boots, "more boot")))
	}
	if n.Runs != nil {
		in := " a side"
		if unit == UnitBoot {
			in = " in each boot"
		}
		ways = append(ways, plural(*n.Runs, "more run")+in)
	}
	if len(ways) == 0 {
		return n.Why
	}
	return strings.Join(ways, " or ") + " would decide"
}
