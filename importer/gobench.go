package importer

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/perf/benchfmt"

	"udsbench/record"
)

// The Go benchmark format (golang.org/design/14313-benchmark-format), whose
// names carry the cell as /field=value. The rate is the value of unit ops/s
// where there is one, else from ns/op.
var goBenchLine = regexp.MustCompile(`(?m)^Benchmark\S*\s+\d+\s+\S`)

func isGoBench(text []byte) bool { return goBenchLine.Match(text) }

func readGoBench(s *Set, text []byte, _ Options) error {
	r := benchfmt.NewReader(bytes.NewReader(text), s.Name)
	for r.Scan() {
		switch b := r.Result().(type) {
		case *benchfmt.SyntaxError:
			return b
		case *benchfmt.Result:
			if err := addGoBench(s, b); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

func addGoBench(s *Set, b *benchfmt.Result) error {
	base, parts := b.Name.Parts()
	c := emptyCell(strings.TrimPrefix(string(base), "Benchmark"))
	for i, p := range parts {
		text := string(p)
		if i == len(parts)-1 && strings.HasPrefix(text, "-") {
			if err := setField(&c, "gomaxprocs", text[1:]); err != nil {
				return err
			}
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "/"), "=")
		if !ok { // an unnamed part belongs to the name
			c.Workload += "/" + name
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		if err := setField(&c, name, value); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	x, ok := b.Value("ops/s")
	if !ok {
		sec, has := b.Value("sec/op")
		if !has || sec <= 0 {
			return fmt.Errorf("%s has neither ops/s nor ns/op", b.Name)
		}
		x = 1 / sec
	}
	x, err := rate(fmt.Sprint(x))
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	r := s.add(c, x)
	ops := uint64(max(0, b.Iters))
	r.Ops = &ops
	if v := b.GetConfig("session"); v != "" {
		r.Session = v
	}
	if v := b.GetConfig("boot"); v != "" {
		r.Boot = v
		delete(r.Unavailable, "boot")
	}
	r.LatencyNS = goBenchLatency(b)
	if r.LatencyNS == nil {
		r.Missing("latency_ns", "the benchmark line has no percentiles")
	}
	return nil
}

// goBenchLatency takes latencies only where all are there: the record has no
// way to leave one out.
func goBenchLatency(b *benchfmt.Result) *record.Latency {
	var l record.Latency
	var mean float64
	for unit, to := range map[string]any{"min-ns": &l.Min, "mean-ns": &mean, "p50-ns": &l.P50, "p90-ns": &l.P90,
		"p99-ns": &l.P99, "p999-ns": &l.P999, "max-ns": &l.Max, "timed-ops": &l.Count} {
		v, ok := b.Value(unit)
		if !ok { // ns is tidied to seconds by the reader
			if v, ok = b.Value(strings.TrimSuffix(unit, "ns") + "sec"); ok {
				v *= 1e9
			}
		}
		if !ok || !(v >= 0 && v < 1e18) {
			return nil
		}
		switch to := to.(type) {
		case *int64:
			*to = int64(v + 0.5)
		case *uint64:
			*to = uint64(v + 0.5)
		case *float64:
			*to = v
		}
	}
	l.Mean = mean
	return &l
}
