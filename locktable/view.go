package locktable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"udsbench/record"
)

// View is what of a table is written.
type View struct {
	Top   int    // rows; 0: all. Of waits in futex(2) all are written
	Class string // only this class, one of record.LockClasses; empty: all
	Per   string // count operations as the waits at this site, in place of the runs' own
}

// Check refuses a view that no table can give.
func (v View) Check() error {
	if v.Top < 0 {
		return fmt.Errorf("--top %d: give 0 (all rows) or more", v.Top)
	}
	if v.Class != "" && !slices.Contains(record.LockClasses, v.Class) {
		return fmt.Errorf("--class %q: give one of %s", v.Class, strings.Join(record.LockClasses, ", "))
	}
	return nil
}

// CheckPer refuses to count by a site that the tables have not.
func (v View) CheckPer(tables []*Table) error {
	if v.Per == "" {
		return nil
	}
	for _, t := range tables {
		for _, s := range t.Sides {
			if slices.ContainsFunc(s.Rows, func(r record.Lock) bool { return r.Site == v.Per && r.Count != nil }) {
				return nil
			}
		}
	}
	return fmt.Errorf("--per %q: no row of the table has this site and a count", v.Per)
}

// apply leaves what the view shows, and gives sides the operations of the site
// that View.Per names: none to those that have not seen it.
func (v View) apply(t *Table) *Table {
	out := &Table{Cell: t.Cell, Per: cmp.Or(v.Per, t.Per)}
	for _, s := range t.Sides {
		c := *s
		c.Rows = nil
		if v.Per != "" {
			c.Ops = nil
		}
		for _, r := range s.Rows {
			if v.Per != "" && r.Site == v.Per && r.Count != nil {
				ops := float64(*r.Count)
				if c.Ops != nil {
					ops += *c.Ops // of other callers and kinds
				}
				c.Ops = &ops
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

// shown is what of a table is written, and how many rows are not.
type shown struct {
	kernel []line
	user   []line // waits in futex(2)
	more   int
}

// show picks the rows that the view shows. A view of class user has them all
// among the first.
func (t *Table) show(v View) (s shown) {
	for _, l := range t.lines() {
		if v.Class != record.ClassUser && l.key.class == record.ClassUser && slices.ContainsFunc(l.rows, isFutex) {
			s.user = append(s.user, l)
		} else {
			s.kernel = append(s.kernel, l)
		}
	}
	if v.Top > 0 && len(s.kernel) > v.Top {
		s.kernel, s.more = s.kernel[:v.Top], len(s.kernel)-v.Top
	}
	return s
}

// isFutex tells a wait that a process made for a lock of its own from one that
// another tool measured in user space.
func isFutex(r *record.Lock) bool {
	return r != nil && (r.Kind == "futex" || r.Samples != nil)
}

// lines joins the sides' rows, the greatest wait of any side first. Where one
// side has times and the other samples, they are ranked by their part of their
// side.
func (t *Table) lines() []line {
	at := map[rowKey]int{}
	var out []line
	for i, s := range t.Sides {
		for j := range s.Rows {
			r := &s.Rows[j]
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
	of := make([]float64, len(t.Sides))
	units := map[string]bool{}
	for i, s := range t.Sides {
		for j := range s.Rows {
			n, unit := weightOf(&s.Rows[j])
			of[i] += float64(n)
			units[unit] = true
		}
	}
	weight := func(l line) float64 {
		w := -1.0
		for i, r := range l.rows {
			if r == nil {
				continue
			}
			n, _ := weightOf(r)
			if len(units) > 1 && of[i] > 0 {
				w = max(w, float64(n)/of[i])
			} else {
				w = max(w, float64(n))
			}
		}
		return w
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Compare(weight(b), weight(a)) })
	return out
}
