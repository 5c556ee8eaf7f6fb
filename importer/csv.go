package importer

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
)

// A table with a header line, separated by commas, semicolons or tabs. Lines
// that begin with # are notes. Columns are
//
//   - rates: those of --value, else those named like one (ops_per_s, q_per_s, …_qps);
//     with several, each is a workload named after its column
//   - what every record has: session, boot, seq, block, kind, status, start, window_s, ops, and our own latencies
//   - what other programs measured beside: passed over (max_time, min_time)
//   - run: the order, and nothing else
//   - all others: fields of the cell, which tell cells apart
var (
	csvRate    = regexp.MustCompile(`^(ops_per_s|q_per_s|qps|tps|value|rate|.+_(qps|tps|per_s))$`)
	csvIgnored = []string{"run", "kind", "max_time", "min_time", "error"}
)

func isCSV(text []byte) bool {
	header, _ := csvHeader(text)
	return header != "" && strings.ContainsAny(header, ",;\t")
}

// csvHeader gives the first line that is no comment, and its separator.
func csvHeader(text []byte) (string, rune) {
	for line := range strings.SplitSeq(string(text), "\n") {
		if _, ok := comment(line); ok || strings.TrimSpace(line) == "" {
			continue
		}
		for _, sep := range "\t;," {
			if strings.ContainsRune(line, sep) {
				return line, sep
			}
		}
		return line, ','
	}
	return "", ','
}

func readCSV(s *Set, text []byte, o Options) error {
	for line := range strings.SplitSeq(string(text), "\n") {
		if c, ok := comment(line); ok {
			s.note(c)
		}
	}
	_, sep := csvHeader(text)
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.Comment, r.LazyQuotes = sep, '#', sep == '\t'
	rows, err := r.ReadAll()
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("has no header line")
	}
	header := rows[0]
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	for _, name := range slices.Concat(o.Values, o.Ignore) {
		if !slices.Contains(header, name) {
			return fmt.Errorf("there is no column %q; there are %s", name, strings.Join(header, ", "))
		}
	}
	for name := range o.Map {
		if !slices.Contains(header, name) {
			return fmt.Errorf("there is no column %q; there are %s", name, strings.Join(header, ", "))
		}
	}
	values := o.Values
	if values == nil {
		for _, h := range header {
			if csvRate.MatchString(h) {
				values = append(values, h)
			}
		}
	}
	if len(values) == 0 {
		return fmt.Errorf("no column is named like a rate (ops_per_s, q_per_s, …_qps): name it with --value; there are %s", strings.Join(header, ", "))
	}
	for i, row := range rows[1:] {
		if err := addRow(s, header, row, values, o); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return nil
}

func addRow(s *Set, header, row []string, values []string, o Options) error {
	c := emptyCell(csvWorkload(values[0]))
	get := map[string]string{}
	for i, h := range header {
		v := strings.TrimSpace(row[i])
		get[h] = v
		if slices.Contains(values, h) || slices.Contains(o.Ignore, h) || slices.Contains(csvIgnored, h) || recordColumn[h] {
			continue
		}
		name := h
		if to, ok := o.Map[h]; ok {
			name = to
		} else if h == "num_queries" {
			name = "queries"
		}
		if err := setField(&c, name, v); err != nil {
			return err
		}
	}
	for _, name := range values {
		cell := c
		if len(values) > 1 {
			cell.Workload = csvWorkload(name)
		}
		if get["status"] == record.Failed {
			s.addFailed(cell, get["error"])
			if err := recordFields(&s.Runs[len(s.Runs)-1], get); err != nil {
				return err
			}
			continue
		}
		if v := get[name]; v == "" || v == "-" {
			continue // a cell that was not measured
		}
		x, err := rate(get[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r := s.add(cell, x)
		if err := recordFields(r, get); err != nil {
			return err
		}
		if r.LatencyNS == nil {
			r.Missing("latency_ns", "the table does not have it")
		}
	}
	return nil
}

// csvWorkload names the workload of a column of rates.
func csvWorkload(column string) string {
	switch name := strings.TrimSuffix(strings.TrimSuffix(column, "_per_s"), "_qps"); name {
	case "q", "qps":
		return "queries"
	case "ops", "tps", "value", "rate":
		return "table"
	default:
		return name
	}
}

// recordColumn are columns that our own export writes beside the cell's.
var recordColumn = map[string]bool{"session": true, "boot": true, "seq": true, "block": true, "status": true,
	"start": true, "window_s": true, "ops": true, "timed_ops": true, "min_ns": true, "mean_ns": true, "p50_ns": true,
	"p90_ns": true, "p99_ns": true, "p999_ns": true, "max_ns": true}

func recordFields(r *record.Run, get map[string]string) error {
	if v := get["session"]; v != "" {
		r.Session = v
	}
	if v := get["boot"]; v != "" {
		r.Boot = v
		delete(r.Unavailable, "boot")
	}
	if v := get["kind"]; v == record.Instrumented {
		r.Kind = v
	}
	r.Start = get["start"]
	for name, to := range map[string]*int{"seq": &r.Seq, "block": &r.Block} {
		if v := get[name]; v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				return fmt.Errorf("%s %q is not a number", name, v)
			}
			*to = n
		}
	}
	if v := get["ops"]; v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("ops %q is not a number", v)
		}
		r.Ops = &n
	}
	if v := get["window_s"]; v != "" {
		w, err := rate(v)
		if err != nil {
			return fmt.Errorf("window_s: %w", err)
		}
		r.WindowS = &w
	}
	l := &record.Latency{}
	for name, to := range map[string]*int64{"min_ns": &l.Min, "p50_ns": &l.P50, "p90_ns": &l.P90, "p99_ns": &l.P99, "p999_ns": &l.P999, "max_ns": &l.Max} {
		n, err := strconv.ParseInt(get[name], 10, 64)
		if err != nil || n < 0 {
			return nil // latencies are taken only where all are there
		}
		*to = n
	}
	var err1, err2 error
	l.Mean, err1 = strconv.ParseFloat(get["mean_ns"], 64)
	l.Count, err2 = strconv.ParseUint(get["timed_ops"], 10, 64)
	if err1 == nil && err2 == nil && l.Mean >= 0 && l.Mean < 1e18 {
		r.LatencyNS = l
	}
	return nil
}
