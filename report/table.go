package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"udsbench/record"
)

// Options are what the table is told beside the runs.
type Options struct {
	Title      string        // first line, as the session and the kernel; may be ""
	Notes      []string      // below the title, as what the rungs of a preset are
	Width      int           // of the terminal in columns; 0: 120
	Cells      []record.Cell // of the plan, in its order; nil: those of the runs
	Discard    int           // blocks at the start whose runs give no figures
	Accounting Accounting
	Distance   Distance // for cells that are pairs of CPUs, which are then drawn as a matrix; may be nil
	Explain    bool     // say where the time of each cell's operations went; else only for few cells, and shorter
	Guest      bool     // the machine is a virtual one: its idle states do not tell what waking takes
	Warnings   []string // from elsewhere, as the environment's; printed last
}

// maxListed bounds the failures that are listed.
const maxListed = 20

// Table draws the default table of runs to w: a row a cell, footnotes with the
// reasons of what is missing, failures and warnings. Starved workers are warned
// of where the runs have their Workers. The error is w's.
func Table(w io.Writer, runs []record.Run, opt Options) error {
	_, err := io.WriteString(w, text(runs, opt))
	return err
}

func text(runs []record.Run, opt Options) string {
	if opt.Width == 0 {
		opt.Width = 120
	}
	rows := Summarise(runs, opt.Cells, opt.Discard, opt.Accounting)
	var b strings.Builder
	if opt.Title != "" {
		paragraph(&b, opt.Width, "", opt.Title)
	}
	for _, n := range opt.Notes {
		paragraph(&b, opt.Width, "", n)
	}
	if len(rows) == 0 {
		b.WriteString("no runs\n")
		return b.String()
	}
	var cells []record.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	id := identify(cells)
	paragraph(&b, opt.Width, "", head(rows, id, opt.Discard))
	b.WriteByte('\n')

	if opt.Distance != nil && isMatrix(rows) {
		drawMatrix(&b, rows, opt.Distance)
	} else {
		drawRows(&b, rows, id, opt.Width)
	}
	b.WriteString(explanation(rows, runs, id, opt))
	if fs := failures(runs, id); len(fs) > 0 {
		b.WriteString("\nfailed:\n")
		for i, f := range fs {
			if i == maxListed {
				fmt.Fprintf(&b, "  and %d more\n", len(fs)-i)
				break
			}
			paragraph(&b, opt.Width, "  ", f)
		}
	}
	if ws := append(warnings(rows, runs, id, opt.Guest), opt.Warnings...); len(ws) > 0 {
		b.WriteString("\nwarnings:\n")
		for _, w := range ws {
			paragraph(&b, opt.Width, "  - ", w)
		}
	}
	return b.String()
}

// drawRows draws a row a cell, and under them what the columns mean.
func drawRows(b *strings.Builder, rows []Row, id identity, width int) {
	notes := &notes{}
	columns, dropped := fit(layout(rows, id, notes), width)
	draw(b, columns)
	b.WriteByte('\n')

	paragraph(b, width, "", legend(columns, rows))
	if len(dropped) > 0 {
		paragraph(b, width, "", "left out for want of width: "+strings.Join(dropped, ", ")+" (--json has all)")
	}
	for i, text := range notes.texts {
		if notes.shown(columns, i) {
			paragraph(b, width, superscript(i+1)+" ", text)
		}
	}
}

// head says what holds for the whole table.
func head(rows []Row, id identity, discard int) string {
	parts := slices.DeleteFunc(slices.Clone(id.lifted), func(s string) bool {
		return s == "nice-client 0" || s == "nice-server 0" // as everything else on the machine
	})
	loops := map[string]bool{}
	n, even, failed := rows[0].Runs, true, 0
	for _, r := range rows {
		even = even && r.Runs == n
		failed += r.Failed
		for _, x := range r.OK {
			loops[x.Loop] = true
		}
	}
	for loop := range loops {
		if len(loops) == 1 && loop != "" {
			parts = append(parts, loop+" loop")
		}
	}
	text := "runs differ in number from cell to cell"
	if even {
		text = plural(n, "run") + " a cell"
	}
	if discard > 0 {
		text += fmt.Sprintf(", the first %d left out", discard)
	}
	if failed == 0 {
		text += ", none failed"
	} else {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if len(parts) == 0 {
		return text
	}
	return text + ". Every cell: " + strings.Join(parts, ", ")
}

func legend(columns []column, rows []Row) string {
	texts := map[string]string{
		"op/s":    "op/s: median over the runs that did not fail",
		"offered": "offered: op/s of the open loop's schedule",
		"±":       "±: half of their range",
		"p50":     latencyOf(rows),
		"lock%":   "lock%: of the server's takings of its own lock, those that found it held",
		"time":    "switches and CPU: both sides of an operation together, median",
		"Jain":    "Jain: how evenly operations fell on clients, 1 all alike, 1/N one has all, median",
		"conn":    "connect: min/avg/max over clients and runs",
	}
	var parts []string
	for _, c := range columns {
		key := c.name
		if c.group == "connect" {
			key = "conn"
		}
		if t := texts[key]; t != "" && !slices.Contains(parts, t) {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "; ")
}

// latencyOf says what the latencies in the table are of, by workload where it
// is not the same for all.
func latencyOf(rows []Row) string {
	var of, by []string
	for _, r := range rows {
		for _, x := range r.OK {
			if x.LatencyOf != "" {
				of, by = append(of, x.LatencyOf), append(by, r.Cell.Workload)
				break
			}
		}
	}
	switch {
	case len(of) == 0:
		return "latency: of all their operations, within 1 %"
	case same(of):
		return "latency: of " + of[0] + ", over all their operations, within 1 %"
	}
	return "latency: of " + mapping(of, by) + ", over all their operations, within 1 %"
}

// latencyGroup is the head of the latency columns: where a part of an operation
// is timed in every row, it is named.
func latencyGroup(rows []Row) string {
	const head = "latency"
	var part string
	for _, r := range rows {
		for _, x := range r.OK {
			what, ok := strings.CutSuffix(x.LatencyOf, " alone")
			if !ok || part != "" && what != part {
				return head
			}
			part = what
		}
	}
	if part == "" {
		return head
	}
	return head + " of " + part
}

// failures lists the runs that failed, in their order; those of one cell that
// failed in the same words are one.
func failures(runs []record.Run, id identity) []string {
	seqs := map[string][]string{}
	var order []string
	for _, r := range runs {
		if r.Status == record.OK {
			continue
		}
		text := fmt.Sprintf("(%s): %s", id.name(r.Cell), failure(r.Error))
		if seqs[text] == nil {
			order = append(order, text)
		}
		seqs[text] = append(seqs[text], fmt.Sprint(r.Seq))
	}
	var out []string
	for _, text := range order {
		word := "run "
		if len(seqs[text]) > 1 {
			word = "runs "
		}
		out = append(out, word+strings.Join(seqs[text], ", ")+" "+text)
	}
	return out
}

// failure says who failed, when, and of what.
func failure(e *record.Error) string {
	if e == nil {
		return "the record does not say why"
	}
	text := e.What
	if e.Errno != "" && !strings.Contains(text, e.Errno) {
		text = e.Errno + ": " + text
	}
	switch {
	case e.Role == "":
		return text
	case e.Worker < 0:
		return e.Role + ": " + text
	}
	return fmt.Sprintf("%s %d after %s: %s", e.Role, e.Worker, plural(int(e.Op), "operation"), text)
}

// notes are the footnotes: each text once.
type notes struct{ texts []string }

func (n *notes) mark(text string) string {
	i := slices.Index(n.texts, text)
	if i < 0 {
		i = len(n.texts)
		n.texts = append(n.texts, text)
	}
	return superscript(i + 1)
}

// shown says whether a column that is drawn refers to text i.
func (n *notes) shown(columns []column, i int) bool {
	for _, c := range columns {
		for _, v := range c.marks {
			if v == superscript(i+1) {
				return true
			}
		}
	}
	return false
}

func superscript(n int) string {
	out := ""
	for _, d := range fmt.Sprint(n) {
		out += string([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[d-'0'])
	}
	return out
}

// column is one column of the table; marks are the footnote signs behind its
// values, which stand outside the alignment of the digits.
type column struct {
	group, name string
	left        bool
	values      []string
	marks       []string
}

func (c column) width() int {
	w := utf8.RuneCountInString(c.name)
	marks := c.markWidth()
	for _, v := range c.values {
		w = max(w, utf8.RuneCountInString(v)+marks)
	}
	return w
}

func (c column) markWidth() int {
	w := 0
	for _, m := range c.marks {
		w = max(w, utf8.RuneCountInString(m))
	}
	return w
}

// bulkBytes is the size of an operation from which the bytes a second are what
// is looked for.
const bulkBytes = 16 << 10

// layout makes all columns that there can be.
func layout(rows []Row, id identity, notes *notes) []column {
	var cs []column
	for i, name := range id.columns {
		c := column{name: name, left: name != "N"}
		for _, r := range rows {
			c.values = append(c.values, pick(r.Cell, id.columns)[i])
			c.marks = append(c.marks, "")
		}
		cs = append(cs, c)
	}
	figure := func(group, name string, get func(*Row) Figure, format func(float64) string) {
		c := column{group: group, name: name}
		for i := range rows {
			f := get(&rows[i])
			v, mark := "-", ""
			if f.Missing == "" {
				v = format(f.Value)
			}
			if text := f.Missing + f.Note; text != "" {
				mark = notes.mark(text)
			}
			c.values = append(c.values, v)
			c.marks = append(c.marks, mark)
		}
		cs = append(cs, c)
	}
	short := func(ns float64) string { return strings.ReplaceAll(Nanoseconds(ns), " ", "") }
	share := func(v float64) string { return fmt.Sprintf("%.0f/%.0f", v, 100-v) }
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Offered.Missing == "" }) {
		figure("", "offered", func(r *Row) Figure { return r.Offered }, Count)
	}
	figure("", "op/s", func(r *Row) Figure { return r.OpsPerS }, Count)
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Cell.Request+r.Cell.Response >= bulkBytes && r.BytesPerS.Missing == "" }) {
		figure("", "B/s", func(r *Row) Figure { return r.BytesPerS }, Count)
	}
	figure("", "±", func(r *Row) Figure { return r.Spread }, func(v float64) string { return strings.ReplaceAll(percent(v), " ", "") })
	latency := latencyGroup(rows)
	figure(latency, "p50", func(r *Row) Figure { return r.P50 }, short)
	figure(latency, "p99", func(r *Row) Figure { return r.P99 }, short)
	figure("switches/op", "vol", func(r *Row) Figure { return r.Voluntary }, digits)
	figure("switches/op", "invol", func(r *Row) Figure { return r.Involuntary }, digits)
	figure("CPU/op", "time", func(r *Row) Figure { return r.CPU }, short)
	figure("CPU/op", "us/sy%", func(r *Row) Figure { return r.UserShare }, share)
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Fairness.Missing == "" }) {
		figure("", "Jain", func(r *Row) Figure { return r.Fairness }, digits)
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.LockShare.Missing == "" }) {
		figure("", "lock%", func(r *Row) Figure { return r.LockShare }, func(v float64) string { return strings.TrimSuffix(percent(v), " %") })
	}
	figure("connect", "min", func(r *Row) Figure { return r.ConnectMin }, short)
	figure("connect", "avg", func(r *Row) Figure { return r.ConnectAvg }, short)
	figure("connect", "max", func(r *Row) Figure { return r.ConnectMax }, short)
	failed := column{name: "failed"}
	any := false
	for _, r := range rows {
		any = any || r.Failed > 0 || r.Runs == 0
		failed.values = append(failed.values, fmt.Sprintf("%d/%d", r.Failed, r.Runs))
		failed.marks = append(failed.marks, "")
	}
	if any {
		cs = append(cs, failed)
	}
	return cs
}

// fit leaves columns out until the table is not wider than width, the least
// telling first. What tells the cells apart, op/s and failures always stay.
func fit(cs []column, width int) (kept []column, dropped []string) {
	for _, drop := range []string{"us/sy%", "connect min", "connect max", "invol", "connect avg", "Jain", "time", "p50", "vol", "p99", "±"} {
		total := -2
		for _, s := range spans(cs) {
			total += s.width + 2
		}
		if total <= width {
			break
		}
		all := len(cs)
		cs = slices.DeleteFunc(slices.Clone(cs), func(c column) bool {
			return c.name == drop || c.group+" "+c.name == drop
		})
		if len(cs) < all {
			dropped = append(dropped, drop)
		}
	}
	return cs, dropped
}

// span is a run of columns under one group, or one column without.
type span struct {
	group      string
	columns    []column
	width, pad int // pad is what the group is wider than its columns
}

func spans(cs []column) []span {
	var ss []span
	for _, c := range cs {
		if n := len(ss); n > 0 && c.group != "" && ss[n-1].group == c.group {
			ss[n-1].columns = append(ss[n-1].columns, c)
			continue
		}
		ss = append(ss, span{group: c.group, columns: []column{c}})
	}
	for i := range ss {
		s := &ss[i]
		s.width = -2
		for _, c := range s.columns {
			s.width += c.width() + 2
		}
		s.pad = max(utf8.RuneCountInString(s.group)-s.width, 0)
		s.width += s.pad
	}
	return ss
}

// draw writes a line of groups, a line of names, and the rows.
func draw(b *strings.Builder, cs []column) {
	groups, names := "", ""
	for _, s := range spans(cs) {
		groups += strings.Repeat(" ", s.width-utf8.RuneCountInString(s.group)) + s.group + "  "
		// A group wider than its columns pushes them to the right.
		names += strings.Repeat(" ", s.pad)
		for _, c := range s.columns {
			gap := strings.Repeat(" ", c.width()-utf8.RuneCountInString(c.name))
			if c.left {
				names += c.name + gap + "  "
			} else {
				names += gap + c.name + "  "
			}
		}
	}
	line(b, groups)
	line(b, names)
	for i := range cs[0].values {
		row := ""
		for _, s := range spans(cs) {
			row += strings.Repeat(" ", s.pad)
			for _, c := range s.columns {
				v := c.values[i]
				if !c.left {
					v += c.marks[i] + strings.Repeat(" ", c.markWidth()-utf8.RuneCountInString(c.marks[i]))
				}
				gap := strings.Repeat(" ", c.width()-utf8.RuneCountInString(v))
				if c.left {
					row += v + gap + "  "
				} else {
					row += gap + v + "  "
				}
			}
		}
		line(b, row)
	}
}

func line(b *strings.Builder, text string) {
	b.WriteString(strings.TrimRight(text, " ") + "\n")
}

// paragraph writes text behind prefix, broken at blanks to width, the further
// lines indented by as much as the prefix is long.
func paragraph(b *strings.Builder, width int, prefix, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(prefix))
	at := prefix
	started := false
	for _, word := range strings.Fields(text) {
		if started && utf8.RuneCountInString(at)+1+utf8.RuneCountInString(word) > width {
			line(b, at)
			at, started = indent, false
		}
		if started {
			at += " "
		}
		at += word
		started = true
	}
	line(b, at)
}
