package locktable

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

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
		fmt.Fprintf(b, "%s\n", Title(*t.Cell))
	}
	for _, s := range t.Sides {
		s.describe(b, t.Per)
	}
	s := t.show(v)
	switch {
	case len(s.kernel) == 0 && !slices.ContainsFunc(t.Sides, (*Side).looked):
	case len(s.kernel) == 0:
		fmt.Fprintf(b, "%s\n", notObserved(v.Class))
	default:
		if v.Class == "" {
			t.classes(b)
		}
		t.rows(b, s.kernel)
		if s.more > 0 {
			fmt.Fprintf(b, "and %d more rows (--top 0 shows all)\n", s.more)
		}
	}
	if len(s.user) > 0 {
		b.WriteString("\nuser space's own locks (waits in futex(2)")
		if slices.ContainsFunc(s.user, func(l line) bool { return l.key.where == record.InRuntime }) {
			b.WriteString("; " + record.InRuntime + ": threads of the Go runtime that have nothing to do")
		}
		b.WriteString("):\n")
		t.rows(b, s.user)
	}
	t.blind(b)
}

// Title names a cell by its flags.
func Title(c record.Cell) string {
	var words []string
	for _, f := range plan.Fields(c) {
		words = append(words, f.Name+" "+f.Value)
	}
	return strings.Join(words, ", ")
}

// NotObserved says of a table without a row of the view that it has none, and
// what its source cannot see; "" of one with rows.
func NotObserved(t *Table, v View) string {
	if len(v.apply(t).lines()) > 0 {
		return ""
	}
	if !slices.ContainsFunc(t.Sides, (*Side).looked) {
		return "not measured: " + t.Sides[0].NoRuns
	}
	words := notObserved(v.Class)
	if blind := t.Blind(); len(blind) > 0 {
		words += "; not seen by this source here: " + strings.Join(blind, "; ")
	}
	return words
}

func notObserved(class string) string {
	if class == "" {
		return "not observed: no wait for a kernel lock was seen"
	}
	return "not observed: no wait of class " + class + " was seen"
}

// classes sums the kernel's rows by class and by who waited, so that the run
// queues' locks do not hide the socket's.
func (t *Table) classes(b *strings.Builder) {
	type key struct{ class, where string }
	sums := map[key][]*[2]int64{}
	var order []key
	for i, s := range t.Sides {
		for _, r := range s.Rows {
			if isFutex(&r) || r.TotalNS == nil || r.Count == nil {
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

// column is a figure of a row.
type column struct {
	name string
	of   func(*record.Lock, *Side) string
	must bool // it stands even where no row of the table tells it
}

func (t *Table) columns() []column {
	return []column{
		{"locks", func(r *record.Lock, _ *Side) string { return addresses(r) }, false},
		{"count", func(r *record.Lock, _ *Side) string { return integer(r.Count) }, true},
		{"per " + t.Per, func(r *record.Lock, s *Side) string { return perOp(r.Count, s.Ops) }, true},
		{"total", func(r *record.Lock, _ *Side) string { return nanoseconds(r.TotalNS) }, true},
		{"mean", func(r *record.Lock, _ *Side) string { return mean(r) }, true},
		{"max", func(r *record.Lock, _ *Side) string { return nanoseconds(r.MaxNS) }, false},
		{"share", func(r *record.Lock, s *Side) string { return share(r.TotalNS, s) }, true},
		{"samples", func(r *record.Lock, _ *Side) string { return samples(r) }, false},
	}
}

// rows writes the rows of one table.
func (t *Table) rows(b *strings.Builder, lines []line) {
	figure := func(c column, l line, i int) string {
		if l.rows[i] == nil {
			return absent
		}
		return c.of(l.rows[i], t.Sides[i])
	}
	told := func(c column) bool {
		for _, l := range lines {
			for i := range t.Sides {
				if figure(c, l, i) != absent {
					return true
				}
			}
		}
		return false
	}
	columns := slices.DeleteFunc(t.columns(), func(c column) bool { return !c.must && !told(c) })
	g := grid{left: 5}
	head := []string{"site", "called from", "kind", "class", "waiting in"}
	for range t.Sides {
		for _, c := range columns {
			head = append(head, c.name)
		}
	}
	if len(t.Sides) == 2 {
		head = append(head, "change")
	}
	g.add(head...)
	for _, l := range lines {
		cells := []string{l.key.site, cmp.Or(l.key.caller, absent), l.key.kind, l.key.class, l.key.where}
		for i := range t.Sides {
			for _, c := range columns {
				cells = append(cells, figure(c, l, i))
			}
		}
		if len(t.Sides) == 2 {
			cells = append(cells, changeOf(t.Sides, l).String())
		}
		g.add(cells...)
	}
	b.WriteString("\n")
	t.sideNames(&g, 5, len(columns))
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
