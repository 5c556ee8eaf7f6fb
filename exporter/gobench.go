package exporter

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"udsbench/record"
	"udsbench/series"
)

// GoBench writes each run as one line of the Go benchmark format, the cell in
// its name as /field=value. Session and boot are configuration lines, so
// `benchstat -col session` sets sessions against each other. It returns how
// many runs were left out, being failed or instrumented.
func GoBench(w io.Writer, runs []record.Run) (without int, err error) {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "Unit ops/s better=higher")
	session, boot := "", ""
	for i := range runs {
		r := &runs[i]
		if r.Status != record.OK || r.Kind == record.Instrumented || r.OpsPerS == nil {
			without++
			continue
		}
		if r.Session != session || r.Boot != boot {
			session, boot = r.Session, r.Boot
			fmt.Fprintf(b, "session: %s\nboot: %s\n", session, boot)
		}
		ops := uint64(1)
		if r.Ops != nil && *r.Ops > 0 {
			ops = *r.Ops
		}
		fmt.Fprintf(b, "%s %d %s ns/op %s ops/s", benchName(r.Cell), ops, exact(1e9 / *r.OpsPerS), exact(*r.OpsPerS))
		if l := r.LatencyNS; l != nil {
			fmt.Fprintf(b, " %d timed-ops %d min-ns %s mean-ns %d p50-ns %d p90-ns %d p99-ns %d p999-ns %d max-ns",
				l.Count, l.Min, exact(l.Mean), l.P50, l.P90, l.P99, l.P999, l.Max)
		}
		b.WriteByte('\n')
	}
	return without, b.Flush()
}

// benchName puts the cell into a benchmark's name. parallel stands last, so
// that nothing in the name looks like the -GOMAXPROCS that may follow it.
func benchName(c record.Cell) string {
	name := strings.Builder{}
	name.WriteString("BenchmarkUdsbench")
	for _, f := range series.Known(c) {
		name.WriteString("/" + f.Name + "=" + url.PathEscape(f.Value))
	}
	return name.String()
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
