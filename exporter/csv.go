package exporter

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"udsbench/plan"
	"udsbench/record"
	"udsbench/series"
)

// CSV writes one row a run, failed ones included. The cell's fields have the
// names of their flags, parameters "param:NAME".
func CSV(w io.Writer, runs []record.Run) error {
	params := map[string]bool{}
	var flags []string
	for i := range runs {
		for name := range runs[i].Cell.Params {
			params[name] = true
		}
		bare := runs[i].Cell
		bare.Params = nil
		if flags == nil {
			for _, f := range plan.Fields(bare) {
				flags = append(flags, f.Name)
			}
		}
	}
	names := slices.Sorted(maps.Keys(params))
	out := csv.NewWriter(w)
	header := slices.Clone(flags)
	for _, n := range names {
		header = append(header, "param:"+n)
	}
	header = append(header, "session", "boot", "seq", "block", "kind", "status", "error", "start", "window_s", "ops", "ops_per_s",
		"timed_ops", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range runs {
		r := &runs[i]
		value := map[string]string{}
		for _, f := range series.Known(r.Cell) {
			value[f.Name] = f.Value
		}
		var row []string
		for _, f := range flags {
			row = append(row, value[f])
		}
		for _, n := range names {
			row = append(row, r.Cell.Params[n])
		}
		why := ""
		if r.Error != nil {
			why = strings.ReplaceAll(r.Error.What, "\n", " ")
		}
		row = append(row, r.Session, r.Boot, strconv.Itoa(r.Seq), strconv.Itoa(r.Block), r.Kind, r.Status, why, r.Start,
			float(r.WindowS), unsigned(r.Ops), float(r.OpsPerS))
		if l := r.LatencyNS; l != nil {
			row = append(row, strconv.FormatUint(l.Count, 10), whole(l.Min), exact(l.Mean), whole(l.P50), whole(l.P90), whole(l.P99), whole(l.P999), whole(l.Max))
		} else {
			row = append(row, make([]string, 8)...)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func whole(v int64) string { return strconv.FormatInt(v, 10) }

func float(v *float64) string {
	if v == nil {
		return ""
	}
	return exact(*v)
}

func unsigned(v *uint64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatUint(*v, 10)
}
