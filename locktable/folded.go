package locktable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// FoldedUnit is what the weights of WriteFolded are: ns, or samples where the
// source samples. It is an error where the tables have no one unit, or two
// sides: a flame graph shows one.
func FoldedUnit(tables []*Table) (string, error) {
	unit := ""
	for _, t := range tables {
		if len(t.Sides) != 1 {
			return "", fmt.Errorf("--folded takes one side, and there are %d: give one session at a time", len(t.Sides))
		}
		for _, r := range t.Sides[0].Rows {
			_, u := weightOf(&r)
			if unit != "" && u != "" && u != unit {
				return "", errors.New("--folded: some rows have times and others only samples, as sources differ: they do not add up")
			}
			unit = cmp.Or(u, unit)
		}
	}
	return unit, nil
}

func weightOf(r *record.Lock) (n int64, unit string) {
	switch {
	case r.TotalNS != nil:
		return *r.TotalNS, "ns"
	case r.Samples != nil:
		return *r.Samples, "samples"
	}
	return 0, ""
}

// WriteFolded writes stacks as flame graph programs read them: frames from the
// outermost in, joined by semicolons, then the summed wait in nanoseconds, or
// the samples. The first frames are what tells the cells apart, where there are
// several, and who waited for what class. A row whose stacks were not kept
// stands as its caller and site. All rows are written, whatever v.Top says.
func WriteFolded(w io.Writer, tables []*Table, v View) error {
	if _, err := FoldedUnit(tables); err != nil {
		return err
	}
	sums := map[string]int64{}
	add := func(n int64, frames ...string) {
		for i, f := range frames {
			frames[i] = strings.ReplaceAll(f, ";", ",")
		}
		sums[strings.Join(frames, ";")] += n
	}
	labels := cellLabels(tables)
	for i, t := range tables {
		for _, r := range v.apply(t).Sides[0].Rows {
			first := append(slices.Clone(labels[i]), r.Class, r.Where)
			rest, _ := weightOf(&r)
			for _, s := range r.Stacks {
				add(s.TotalNS, slices.Concat(first, s.Frames, []string{"[" + r.Kind + "]"})...)
				rest -= s.TotalNS
			}
			if rest > 0 {
				if r.Caller != "" {
					first = append(first, r.Caller)
				}
				add(rest, append(first, r.Site, "["+r.Kind+"]")...)
			}
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

// cellLabels tells the tables' cells apart by what differs between them, in
// one frame; none where there is one.
func cellLabels(tables []*Table) [][]string {
	labels := make([][]string, len(tables))
	if len(tables) < 2 {
		return labels
	}
	var cells []record.Cell
	for _, t := range tables {
		cells = append(cells, *t.Cell)
	}
	_, varying := plan.Varying(cells)
	for i, c := range cells {
		var words []string
		for _, f := range plan.Fields(c) {
			if slices.Contains(varying, f.Name) {
				words = append(words, f.Name+" "+f.Value)
			}
		}
		labels[i] = []string{strings.Join(words, ", ")}
	}
	return labels
}
