package exporter

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"udsbench/plan"
	"udsbench/record"
	"udsbench/series"
)

// Columns writes one column a cell and boot, one line a run, for `ministat -C
// N`, in the order of the cells, so that column N is the same cell in every
// export of the same cells; the comment above names them. ministat can only miss
// what a line ends before: where cells have different numbers of runs, those with
// more come first, which uneven reports. It returns how many runs were left out
// for want of the figure.
func Columns(w io.Writer, runs []record.Run, m series.Metric) (without int, uneven bool, err error) {
	b := bufio.NewWriter(w)
	all := series.Of(runs, m)
	slices.SortStableFunc(all, func(x, y *series.Series) int {
		return cmp.Or(cmp.Compare(len(y.Points), len(x.Points)), plan.InOrder(x.Cell, y.Cell))
	})
	for _, s := range all {
		without += len(s.Failed) + len(s.Without)
	}
	all = slices.DeleteFunc(all, func(s *series.Series) bool { return len(s.Points) == 0 })
	for i, s := range all {
		var parts []string
		for _, f := range series.Known(s.Cell) {
			parts = append(parts, f.Name+" "+f.Value)
		}
		fmt.Fprintf(b, "# column %d: %s; %s, %s", i+1, strings.Join(parts, ", "), m.Name, m.Unit)
		if s.Boot != "" {
			fmt.Fprintf(b, "; boot %s", s.Boot)
		}
		b.WriteByte('\n')
	}
	for line := 0; len(all) > 0 && line < len(all[0].Points); line++ {
		for i, s := range all {
			if line >= len(s.Points) {
				break
			}
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(exact(s.Points[line].Value))
		}
		b.WriteByte('\n')
	}
	uneven = len(all) > 0 && len(all[0].Points) != len(all[len(all)-1].Points)
	return without, uneven, b.Flush()
}
