package exporter

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"udsbench/record"
	"udsbench/series"
)

// Columns writes one column a cell and boot, one line a run, for `ministat -C
// N`. Columns with more runs come first, so that a line ends where the others
// have no more; the comment above names them. It returns how many runs were
// left out for want of the figure.
func Columns(w io.Writer, runs []record.Run, m series.Metric) (without int, err error) {
	b := bufio.NewWriter(w)
	all := series.Of(runs, m)
	slices.SortStableFunc(all, func(x, y *series.Series) int { return cmp.Compare(len(y.Points), len(x.Points)) })
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
	return without, b.Flush()
}
