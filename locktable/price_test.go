package locktable

import (
	"math"
	"strings"
	"testing"

	"udsbench/record"
)

// priced makes runs of one cell with these throughputs, the instrumented ones
// with these instruments.
func priced(plain, watched []float64, instruments ...string) (runs []record.Run) {
	cell := record.Cell{Workload: "fanin", Transport: "unix-stream", Parallel: 8}
	for _, v := range plain {
		runs = append(runs, record.Run{Kind: record.Timed, Status: record.OK, Cell: cell, OpsPerS: &v})
	}
	for _, v := range watched {
		r := record.Run{Kind: record.Instrumented, Status: record.OK, Cell: cell, OpsPerS: &v}
		for _, name := range instruments {
			r.Instruments = append(r.Instruments, record.Instrument{Name: name, Source: "ebpf"})
		}
		runs = append(runs, r)
	}
	return runs
}

// The figures are from the formulas, worked out apart with a t quantile from
// numerical integration: 2.595 for 4.853 degrees of freedom.
func TestPrice(t *testing.T) {
	plain, watched := []float64{100, 104, 98, 102}, []float64{91, 95, 93}
	s := tablesOf(t, priced(plain, watched, "locks"))[0].Sides[0]
	p := s.Price
	if p == nil {
		t.Fatal(s.NoPrice)
	}
	for what, v := range map[string][2]float64{"ratio": {p.Ratio, 0.920876}, "lo": {p.Lo, 0.879264}, "hi": {p.Hi, 0.964457}} {
		if math.Abs(v[0]-v[1]) > 1e-5 {
			t.Errorf("%s is %v, want %v", what, v[0], v[1])
		}
	}
	if p.Plain != 4 || p.Instrumented != 3 || strings.Contains(p.String(), "together") {
		t.Errorf("%+v: %s", p, p)
	}
}

// The plain runs' own spread is part of the price's.
func TestPriceHoldsThePlainRunsSpread(t *testing.T) {
	width := func(plain []float64) float64 {
		p := tablesOf(t, priced(plain, []float64{92, 93, 94}, "locks"))[0].Sides[0].Price
		return p.Hi - p.Lo
	}
	if calm, wild := width([]float64{99, 100, 101}), width([]float64{60, 100, 160}); wild < 5*calm {
		t.Errorf("an interval %.3f wide where plain runs agree, and %.3f where they do not", calm, wild)
	}
}

// Of several instruments it is the price of all; of locks alone where a session
// has such runs.
func TestPriceOfWhat(t *testing.T) {
	all := priced([]float64{100, 101, 99}, []float64{50, 51, 52}, "locks", "sched", "counters")
	p := tablesOf(t, all)[0].Sides[0].Price
	if p == nil || !strings.Contains(p.String(), "the price of all instruments together (locks, sched, counters)") {
		t.Errorf("%v", p)
	}
	alone := append(all, priced(nil, []float64{95, 96, 97}, "locks")...)
	if p = tablesOf(t, alone)[0].Sides[0].Price; p == nil || p.Instrumented != 3 || p.Ratio < 0.9 || len(p.Instruments) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestNoPrice(t *testing.T) {
	for _, c := range []struct {
		plain, watched []float64
		discard        int
		why            string
	}{
		{[]float64{100}, []float64{90, 91}, 0, "1 and 2"},
		{nil, []float64{90, 91}, 0, "0 and 2"},
		{[]float64{100, 101, 102}, []float64{90}, 0, "3 and 1"},
		{[]float64{100, 101, 102}, []float64{90, 91, 92}, 2, "1 and 1"},
	} {
		tables, err := Tables([]Session{{Name: "s", Runs: priced(c.plain, c.watched, "locks"), Discard: c.discard}})
		if err != nil {
			t.Fatal(err)
		}
		if s := tables[0].Sides[0]; s.Price != nil || !strings.Contains(s.NoPrice, c.why) {
			t.Errorf("%+v: %v, %q", c, s.Price, s.NoPrice)
		}
	}
}
