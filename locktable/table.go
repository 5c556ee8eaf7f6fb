package locktable

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"udsbench/plan"
	"udsbench/record"
)

// View is what of a table is written.
type View struct {
	Top   int    // rows; 0: all
	Class string // only this class; empty: all
	Per   string // count operations as the waits at this site, where runs tell none
}

// apply leaves what the view shows, and gives sides without operations those
// of the site that View.Per names.
func (v View) apply(t *Table) *Table {
	out := &Table{Cell: t.Cell, Per: t.Per}
	for _, s := range t.Sides {
		c := *s
		c.Rows = nil
		for _, r := range s.Rows {
			if v.Per != "" && r.Site == v.Per && r.Count != nil {
				ops := float64(*r.Count)
				c.Ops, out.Per = &ops, v.Per
			}
			if v.Class == "" || r.Class == v.Class {
				c.Rows = append(c.Rows, r)
			}
		}
		out.Sides = append(out.Sides, &c)
	}
	return out
}

// line is one row of the table over all sides; nil where a side has not seen it.
type line struct {
	key  rowKey
	rows []*record.Lock
}

// lines joins the sides' rows, the greatest wait of any side first.
func (t *Table) lines(user bool) []line {
	at := map[rowKey]int{}
	var out []line
	for i, s := range t.Sides {
		for j := range s.Rows {
			r := &s.Rows[j]
			if (r.Class == record.ClassUser && r.Kind == "futex") != user {
				continue
			}
			k := keyOf(r)
			n, ok := at[k]
			if !ok {
				n = len(out)
				at[k] = n
				out = append(out, line{k, make([]*record.Lock, len(t.Sides))})
			}
			out[n].rows[i] = r
		}
	}
	weight := func(l line) (w int64) {
		w = -1
		for _, r := range l.rows {
			if r != nil {
				w = max(w, value(r.TotalNS), value(r.Samples))
			}
		}
		return w
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Compare(weight(b), weight(a)) })
	return out
}

// value gives what p points to, or less than anything that is known.
func value(p *int64) int64 {
	if p == nil {
		return -1
	}
	return *p
}

// absent stands where a side did not observe something, or a source does not tell it.
const absent = "-"

// Write draws the tables for a person.
func Write(w io.Writer, tables []*Table, v View) error {
	b := &strings.Builder{}
	for i, full := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		v.apply(full).write(b, v)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) write(b *strings.Builder, v View) {
	if t.Cell != nil {
		var words []string
		for _, f := range plan.Fields(*t.Cell) {
			words = append(words, f.Name+" "+f.Value)
		}
		fmt.Fprintf(b, "%s\n", strings.Join(words, ", "))
	}
	for _, s := range t.Sides {
		s.describe(b)
	}
	sampled := false
	for _, s := range t.Sides {
		for _, r := range s.Rows {
			sampled = sampled || r.Samples != nil
		}
	}
	kernel := t.lines(false)
	if len(kernel) == 0 {
		fmt.Fprintf(b, "not observed: no wait%s was seen\n", inClass(v.Class))
	} else {
		if v.Class == "" {
			t.classes(b)
		}
		shown := kernel
		if v.Top > 0 && len(shown) > v.Top {
			shown = shown[:v.Top]
		}
		t.rows(b, shown, sampled)
		if n := len(kernel) - len(shown); n > 0 {
			fmt.Fprintf(b, "and %d more rows (--top 0 shows all)\n", n)
		}
	}
	if user := t.lines(true); len(user) > 0 {
		b.WriteString("\nuser space's own locks (waits in futex; a Go program's idle threads wait there too):\n")
		t.rows(b, user, false)
	}
	t.blind(b)
}

func inClass(class string) string {
	if class == "" {
		return ""
	}
	return " of class " + class
}

// describe says what a side is and what its instrument cost.
func (s *Side) describe(b *strings.Builder) {
	fmt.Fprintf(b, "%s: ", s.Name)
	var words []string
	if s.Runs > 0 {
		words = append(words, plural(s.Runs, "instrumented run"))
	}
	if len(s.Instruments) > 0 {
		words = append(words, "source "+strings.Join(s.sources(), ", "))
	} else if s.Runs == 0 && len(s.Rows) == 0 {
		words = append(words, "no instrumented run of this cell")
	}
	if s.Ops != nil {
		words = append(words, fmt.Sprintf("%.0f operations", *s.Ops))
	}
	if s.CPUSeconds != nil {
		words = append(words, fmt.Sprintf("%s CPU-seconds", number(*s.CPUSeconds)))
	}
	fmt.Fprintln(b, strings.Join(words, ", "))
	if len(s.Instruments) == 0 {
		return
	}
	var cost []string
	if s.Throughput != nil {
		cost = append(cost, fmt.Sprintf("throughput %.2f of the plain runs' (%.2f to %.2f)", s.Throughput.Ratio, s.Throughput.Min, s.Throughput.Max))
	} else {
		cost = append(cost, "throughput not known (no plain runs of this cell in the session)")
	}
	var self, calls, lost int64
	known, lostKnown := true, true
	for _, i := range s.Instruments {
		if i.SelfNS == nil || i.Calls == nil {
			known = false
		} else {
			self, calls = self+*i.SelfNS, calls+*i.Calls
		}
		if i.Lost == nil {
			lostKnown = false
		} else {
			lost += *i.Lost
		}
	}
	if known {
		own := fmt.Sprintf("programs' own time %s in %d calls", duration(float64(self)), calls)
		if s.CPUSeconds != nil && *s.CPUSeconds > 0 {
			own += fmt.Sprintf(" (%.2f %% of all CPU time)", float64(self)/1e7 / *s.CPUSeconds)
		}
		cost = append(cost, own)
	}
	if lostKnown {
		cost = append(cost, fmt.Sprintf("%d events lost", lost))
	}
	fmt.Fprintf(b, "  the instrument's price: %s\n", strings.Join(cost, "; "))
	if slices.ContainsFunc(s.Instruments, func(i record.Instrument) bool { return i.Diagnose }) {
		b.WriteString("  this kernel profiles its locks: for diagnosis only, its times say nothing of another kernel\n")
	}
	for _, n := range s.notes() {
		fmt.Fprintf(b, "  note: %s\n", n)
	}
}

func (s *Side) sources() (out []string) {
	for _, i := range s.Instruments {
		if !slices.Contains(out, i.Source) {
			out = append(out, i.Source)
		}
	}
	return out
}

// notes gives each run's notes, and the better sources that were refused, once.
func (s *Side) notes() (out []string) {
	seen := map[string]bool{}
	say := func(n string) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	for _, i := range s.Instruments {
		for _, n := range i.Notes {
			say(n)
		}
		names := make([]string, 0, len(i.Refused))
		for n := range i.Refused {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			say("source " + n + " is not available: " + i.Refused[n])
		}
	}
	return out
}

// blind says what the sources cannot see.
func (t *Table) blind(b *strings.Builder) {
	var all []string
	for _, s := range t.Sides {
		for _, i := range s.Instruments {
			for _, x := range i.Blind {
				if !slices.Contains(all, x) {
					all = append(all, x)
				}
			}
		}
	}
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\nnot seen by this source here, whatever the table says (%s: not observed, or not told):\n", absent)
	for _, x := range all {
		fmt.Fprintf(b, "  %s\n", x)
	}
}

// classes sums the kernel's rows by class and by who waited, so that the run
// queues' locks do not hide the socket's.
func (t *Table) classes(b *strings.Builder) {
	type key struct{ class, where string }
	sums := map[key][]*[2]int64{}
	var order []key
	for i, s := range t.Sides {
		for _, r := range s.Rows {
			if r.Kind == "futex" || r.TotalNS == nil || r.Count == nil {
				continue
			}
			k := key{r.Class, r.Where}
			if sums[k] == nil {
				sums[k] = make([]*[2]int64, len(t.Sides))
				order = append(order, k)
			}
			if sums[k][i] == nil {
				sums[k][i] = &[2]int64{}
			}
			sums[k][i][0] += *r.Count
			sums[k][i][1] += *r.TotalNS
		}
	}
	if len(order) < 2 {
		return
	}
	slices.SortStableFunc(order, func(a, b key) int {
		weigh := func(k key) (w int64) {
			for _, s := range sums[k] {
				if s != nil {
					w = max(w, s[1])
				}
			}
			return w
		}
		return cmp.Compare(weigh(b), weigh(a))
	})
	g := grid{left: 2}
	head := []string{"class", "waiting in"}
	for range t.Sides {
		head = append(head, "waits", "total", "share")
	}
	g.add(head...)
	for _, k := range order {
		cells := []string{k.class, k.where}
		for i, s := range t.Sides {
			if v := sums[k][i]; v != nil {
				cells = append(cells, strconv.FormatInt(v[0], 10), duration(float64(v[1])), share(&v[1], s))
			} else {
				cells = append(cells, absent, absent, absent)
			}
		}
		g.add(cells...)
	}
	b.WriteString("\n")
	t.sideNames(&g, 2, 3)
	g.write(b)
}

// rows writes the rows of one table.
func (t *Table) rows(b *strings.Builder, lines []line, sampled bool) {
	g := grid{left: 5}
	head := []string{"site", "called from", "kind", "class", "waiting in"}
	one := len(t.Sides) == 1
	count, width := "count", 0
	for range t.Sides {
		var cols []string
		if one {
			cols = append(cols, "locks")
		}
		cols = append(cols, count, "per "+t.Per, "total", "mean")
		if one {
			cols = append(cols, "max")
		}
		cols = append(cols, "share")
		if sampled {
			cols = append(cols, "samples")
		}
		width = len(cols)
		head = append(head, cols...)
	}
	if len(t.Sides) == 2 {
		head = append(head, "change")
	}
	g.add(head...)
	for _, l := range lines {
		cells := []string{l.key.site, cmp.Or(l.key.caller, absent), l.key.kind, l.key.class, l.key.where}
		for i, s := range t.Sides {
			r := l.rows[i]
			if r == nil {
				r = &record.Lock{}
			}
			if one {
				cells = append(cells, addresses(r))
			}
			cells = append(cells, integer(r.Count), perOp(r.Count, s.Ops), nanoseconds(r.TotalNS), mean(r))
			if one {
				cells = append(cells, nanoseconds(r.MaxNS))
			}
			cells = append(cells, share(r.TotalNS, s))
			if sampled {
				cells = append(cells, samples(r))
			}
		}
		if len(t.Sides) == 2 {
			cells = append(cells, change(t.Sides, l.rows))
		}
		g.add(cells...)
	}
	b.WriteString("\n")
	t.sideNames(&g, 5, width)
	g.write(b)
}

// sideNames puts the sides' names over their columns.
func (t *Table) sideNames(g *grid, first, width int) {
	if len(t.Sides) > 1 {
		for i, s := range t.Sides {
			g.over(first+i*width, first+(i+1)*width, s.Name)
		}
	}
}

// change says how waiting for one operation changed, or, where a side knows no
// operations, the sum.
func change(sides []*Side, rows []*record.Lock) string {
	a, b := rows[0], rows[1]
	switch {
	case a == nil && b == nil:
		return absent
	case a == nil:
		return "appeared"
	case b == nil:
		return "gone"
	case a.TotalNS == nil || b.TotalNS == nil || *a.TotalNS == 0:
		return absent
	}
	x, y := float64(*a.TotalNS), float64(*b.TotalNS)
	if sides[0].Ops != nil && sides[1].Ops != nil && *sides[0].Ops > 0 && *sides[1].Ops > 0 {
		return fmt.Sprintf("×%.2f per op", y / *sides[1].Ops / (x / *sides[0].Ops))
	}
	return fmt.Sprintf("×%.2f", y/x)
}

func integer(n *int64) string {
	if n == nil {
		return absent
	}
	return strconv.FormatInt(*n, 10)
}

func addresses(r *record.Lock) string {
	if r.Addresses == nil {
		return absent
	}
	if r.AtLeast {
		return fmt.Sprintf("≥%d", *r.Addresses)
	}
	return strconv.Itoa(*r.Addresses)
}

func perOp(n *int64, ops *float64) string {
	if n == nil || ops == nil || *ops == 0 {
		return absent
	}
	v := float64(*n) / *ops
	if v >= 0.01 || v == 0 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1e", v)
}

func nanoseconds(n *int64) string {
	if n == nil {
		return absent
	}
	return duration(float64(*n))
}

func mean(r *record.Lock) string {
	if r.TotalNS == nil || r.Count == nil || *r.Count == 0 {
		return absent
	}
	return duration(float64(*r.TotalNS) / float64(*r.Count))
}

func samples(r *record.Lock) string {
	if r.Samples == nil {
		return absent
	}
	if r.SampleShare != nil && r.SampleShare.Of > 0 {
		return fmt.Sprintf("%d (%.1f %%)", *r.Samples, 100*float64(r.SampleShare.N)/float64(r.SampleShare.Of))
	}
	return integer(r.Samples)
}

// share gives the part of all CPU-seconds.
func share(ns *int64, s *Side) string {
	if ns == nil || s.CPUSeconds == nil || *s.CPUSeconds == 0 {
		return absent
	}
	return fmt.Sprintf("%.1f %%", float64(*ns)/1e7 / *s.CPUSeconds)
}

// duration writes nanoseconds with four figures.
func duration(ns float64) string {
	for _, u := range []struct {
		unit string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.ns {
			return number(ns/u.ns) + " " + u.unit
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// grid is text in columns: the first left ones flush left, the others right.
type grid struct {
	left int
	rows [][]string
	span []span
}

type span struct {
	from, to int
	text     string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) over(from, to int, text string) { g.span = append(g.span, span{from, to, text}) }

func (g *grid) write(b *strings.Builder) {
	width := make([]int, len(g.rows[0]))
	for _, r := range g.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	at := func(i int) (n int) { // where column i begins
		for _, w := range width[:i] {
			n += w + 2
		}
		return n
	}
	if len(g.span) > 0 {
		var l strings.Builder
		for _, s := range g.span {
			room := at(s.to) - at(s.from) - 2
			text := []rune(s.text)
			if len(text) > room {
				text = append(text[:max(room-1, 0)], '…')
			}
			l.WriteString(strings.Repeat(" ", max(0, at(s.to)-2-len(text)-utf8.RuneCountInString(l.String()))))
			l.WriteString(string(text))
		}
		b.WriteString(l.String() + "\n")
	}
	for _, r := range g.rows {
		var l strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i < g.left {
				l.WriteString(c + pad)
			} else {
				l.WriteString(pad + c)
			}
			l.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
}

// WriteJSON writes one JSON object a table, a line each.
func WriteJSON(w io.Writer, tables []*Table, v View) error {
	e := json.NewEncoder(w)
	for _, t := range tables {
		t = v.apply(t)
		for _, s := range t.Sides {
			if v.Top > 0 && len(s.Rows) > v.Top {
				s.Rows = s.Rows[:v.Top]
			}
			if s.Rows == nil {
				s.Rows = []record.Lock{} // observed, and nothing seen
			}
		}
		if err := e.Encode(t); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes one line a row and side, times in nanoseconds. A field is
// empty where the figure was not observed or is not told.
func WriteCSV(w io.Writer, tables []*Table, v View) error {
	c := csv.NewWriter(w)
	names := []string{"cell", "side", "source", "site", "caller", "kind", "class", "where", "addresses", "count", "per_op", "total_ns", "min_ns", "mean_ns", "max_ns", "cpu_share", "acquired", "samples"}
	if err := c.Write(names); err != nil {
		return err
	}
	for _, t := range tables {
		t = v.apply(t)
		cell := ""
		if t.Cell != nil {
			cell = cellKey(*t.Cell)
		}
		for _, s := range t.Sides {
			rows := s.Rows
			if v.Top > 0 && len(rows) > v.Top {
				rows = rows[:v.Top]
			}
			for i := range rows {
				r := &rows[i]
				n := func(p *int64) string {
					if p == nil {
						return ""
					}
					return strconv.FormatInt(*p, 10)
				}
				ratio := func(p *int64, of *float64, scale float64) string {
					if p == nil || of == nil || *of == 0 {
						return ""
					}
					return strconv.FormatFloat(float64(*p)/scale / *of, 'g', 6, 64)
				}
				addrs, each := "", ""
				if r.Addresses != nil {
					addrs = strconv.Itoa(*r.Addresses)
				}
				if r.Count != nil && r.TotalNS != nil && *r.Count > 0 {
					each = strconv.FormatFloat(float64(*r.TotalNS)/float64(*r.Count), 'f', 1, 64)
				}
				if err := c.Write([]string{cell, s.Name, r.Source, r.Site, r.Caller, r.Kind, r.Class, r.Where, addrs, n(r.Count), ratio(r.Count, s.Ops, 1),
					n(r.TotalNS), n(r.MinNS), each, n(r.MaxNS), ratio(r.TotalNS, s.CPUSeconds, 1e9), n(r.Acquired), n(r.Samples)}); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// WriteFolded writes stacks as flame graph programs read them: frames from the
// outermost in, joined by semicolons, then the summed wait in nanoseconds. A
// row whose stacks were not kept stands as class and site.
func WriteFolded(w io.Writer, t *Table, v View) error {
	t = v.apply(t)
	if len(t.Sides) != 1 {
		return fmt.Errorf("--folded takes one session and one side, not %d", len(t.Sides))
	}
	sums := map[string]int64{}
	for _, r := range t.Sides[0].Rows {
		if r.TotalNS == nil {
			continue
		}
		rest := *r.TotalNS
		for _, s := range r.Stacks {
			sums[strings.Join(append([]string{r.Class, r.Where}, append(s.Frames, "["+r.Kind+"]")...), ";")] += s.TotalNS
			rest -= s.TotalNS
		}
		if rest > 0 {
			names := []string{r.Class, r.Where}
			if r.Caller != "" {
				names = append(names, r.Caller)
			}
			sums[strings.Join(append(names, r.Site, "["+r.Kind+"]"), ";")] += rest
		}
	}
	keys := make([]string, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if _, err := fmt.Fprintf(w, "%s %d\n", k, sums[k]); err != nil {
			return err
		}
	}
	return nil
}
