package series

import (
	"fmt"
	"strings"

	"udsbench/record"
)

// Metric is one figure of a run. Its values are positive: what is compared
// are their logarithms.
type Metric struct {
	Name          string // as --metric takes it
	Unit          string
	LowerIsBetter bool
	Resolution    float64 // how far apart, as a share, rounding alone may put two equal figures; 0 where they are exact
	of            func(*record.Run) (float64, bool)
}

// Of gives the figure of a run; ok is false where the run has none.
func (m Metric) Of(r *record.Run) (value float64, ok bool) {
	v, ok := m.of(r)
	return v, ok && v > 0
}

// Throughput is operations a second, the figure that verdicts are about
// unless another is asked for.
var Throughput = Metric{Name: "ops_per_s", Unit: "ops/s", of: func(r *record.Run) (float64, bool) {
	if r.OpsPerS == nil {
		return 0, false
	}
	return *r.OpsPerS, true
}}

// percentileResolution is that of the histogram (record.Latency).
const percentileResolution = 0.01

func percentile(name string, of func(*record.Latency) int64) Metric {
	m := latency(name, func(l *record.Latency) float64 { return float64(of(l)) })
	m.Resolution = percentileResolution
	return m
}

func latency(name string, of func(*record.Latency) float64) Metric {
	return Metric{Name: name, Unit: "ns", LowerIsBetter: true, of: func(r *record.Run) (float64, bool) {
		if r.LatencyNS == nil || r.LatencyNS.Count == 0 {
			return 0, false
		}
		return of(r.LatencyNS), true
	}}
}

// Metrics are all figures that can be compared.
var Metrics = []Metric{
	Throughput,
	latency("mean", func(l *record.Latency) float64 { return l.Mean }),
	percentile("p50", func(l *record.Latency) int64 { return l.P50 }),
	percentile("p90", func(l *record.Latency) int64 { return l.P90 }),
	percentile("p99", func(l *record.Latency) int64 { return l.P99 }),
	percentile("p999", func(l *record.Latency) int64 { return l.P999 }),
}

// MetricOf finds a metric by its name.
func MetricOf(name string) (Metric, error) {
	var names []string
	for _, m := range Metrics {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Metric{}, fmt.Errorf("metric %q is not known; there are %s", name, strings.Join(names, ", "))
}
