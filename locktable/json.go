package locktable

import (
	"encoding/json"
	"io"
	"slices"

	"udsbench/record"
)

// WriteJSON writes one JSON object a table, a line each: the rows that the table
// of the view shows, each side's greatest wait first, and of two sides what
// changed. A side that was not measured has no list of rows, one that has seen
// nothing an empty one.
func WriteJSON(w io.Writer, tables []*Table, v View) error {
	e := json.NewEncoder(w)
	for _, t := range tables {
		t = v.apply(t)
		s := t.show(v)
		keep := map[rowKey]bool{}
		for _, l := range append(s.kernel, s.user...) {
			keep[l.key] = true
			if len(t.Sides) == 2 {
				t.Changes = append(t.Changes, changeOf(t.Sides, l))
			}
		}
		for _, side := range t.Sides {
			side.Rows = slices.DeleteFunc(side.Rows, func(r record.Lock) bool { return !keep[keyOf(&r)] })
			if side.Rows == nil && side.looked() {
				side.Rows = []record.Lock{} // observed, and nothing seen
			}
		}
		if err := e.Encode(t); err != nil {
			return err
		}
	}
	return nil
}
