package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/montanaflynn/stats"

	"udsbench/histogram"
	"udsbench/plan"
	"udsbench/record"
)

// Figure is a number, or the reason why there is none.
type Figure struct {
	Value   float64
	Missing string // why there is no value; "" where there is one
	Note    string // what to know about the value; mostly ""
}

func known(v float64) Figure { return Figure{Value: v} }

func missing(why string) Figure { return Figure{Missing: why} }

// Row sums up the timed runs of one cell. Times are in nanoseconds.
type Row struct {
	Cell   record.Cell
	Runs   int // of all, failed and discarded ones too
	Failed int
	OK     []record.Run // those that the figures are drawn from, in the order in which they ran

	OpsPerS     Figure // median over OK
	Offered     Figure // op/s of an open loop's schedule: median over OK
	BytesPerS   Figure // median over OK
	Spread      Figure // half of the range of ops/s over OK, in percent of the median
	P50, P99    Figure // of the merged histograms of OK
	Voluntary   Figure // switches an operation, all roles: median over OK
	Involuntary Figure
	CPU         Figure // time on CPU an operation, all roles: median over OK
	UserShare   Figure // user time in percent of CPU, all of OK together
	LockShare   Figure // takings of the server's own lock that found it held, in percent: all of OK together
	Fairness    Figure // Jain's index of the clients' operations: median over OK
	ConnectMin  Figure // the least of OK
	ConnectAvg  Figure // the mean over OK
	ConnectMax  Figure // the greatest of OK
}

// Accounting says how this kernel splits CPU time into user and system time.
type Accounting struct {
	Exact  bool  // measured at each change, as CONFIG_VIRT_CPU_ACCOUNTING_GEN does
	TickNS int64 // else sampled at ticks of this length; 0: not known, taken as 10 ms, the longest in use
}

// minTicks is how many ticks a split into user and system must rest on: a
// share of one half then has a standard error of 2.5 %.
const minTicks = 400

// defaultTick is the longest tick in use, in ns.
const defaultTick = 10_000_000

// Summarise groups the timed runs by cell. Rows stand in the order of cells,
// which also get one where nothing was run; other cells follow in the order of
// their fields. The runs of the first discard blocks are counted but give no
// figures.
func Summarise(runs []record.Run, cells []record.Cell, discard int, acc Accounting) []Row {
	rows := map[string]*Row{}
	var order []string
	add := func(c record.Cell) *Row {
		key := plan.Key(c)
		if rows[key] == nil {
			rows[key] = &Row{Cell: c}
			order = append(order, key)
		}
		return rows[key]
	}
	for _, c := range cells {
		add(c)
	}
	planned := len(order)
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b record.Run) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, r := range runs {
		if r.Kind != record.Timed {
			continue
		}
		row := add(r.Cell)
		row.Runs++
		switch {
		case r.Status != record.OK:
			row.Failed++
		case r.Block >= discard:
			row.OK = append(row.OK, r)
		}
	}
	slices.SortStableFunc(order[planned:], func(a, b string) int {
		return compareCells(rows[a].Cell, rows[b].Cell)
	})
	var out []Row
	for _, key := range order {
		r := rows[key]
		r.figures(acc)
		out = append(out, *r)
	}
	return out
}

// compareCells orders by the fields, parallel (the last one) by its number.
func compareCells(a, b record.Cell) int {
	fa, fb := plan.Fields(a), plan.Fields(b)
	for i := range min(len(fa), len(fb)) - 1 {
		if c := cmp.Or(strings.Compare(fa[i].Name, fb[i].Name), strings.Compare(fa[i].Value, fb[i].Value)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(fa), len(fb)), cmp.Compare(a.Parallel, b.Parallel))
}

func (r *Row) figures(acc Accounting) {
	if len(r.OK) == 0 {
		why := "all runs failed; the failures are below"
		switch {
		case r.Runs == 0:
			why = "not run"
		case r.Failed < r.Runs:
			why = "no run is left after those that are discarded or failed"
		}
		for _, f := range []*Figure{&r.OpsPerS, &r.Offered, &r.BytesPerS, &r.Spread, &r.P50, &r.P99, &r.Voluntary, &r.Involuntary,
			&r.CPU, &r.UserShare, &r.LockShare, &r.Fairness, &r.ConnectMin, &r.ConnectAvg, &r.ConnectMax} {
			*f = missing(why)
		}
		return
	}
	rates, why := r.each("ops_per_s", func(x *record.Run) (float64, bool) { return value(x.OpsPerS) })
	r.OpsPerS = r.median(rates, why)
	r.Offered = r.median(r.each("offered_ops_per_s", func(x *record.Run) (float64, bool) { return value(x.OfferedPerS) }))
	r.lockShare()
	bytes, noBytes := r.each("bytes_per_s", func(x *record.Run) (float64, bool) { return value(x.BytesPerS) })
	r.BytesPerS = r.median(bytes, noBytes)
	r.Spread = spread(rates, why)
	r.latency()
	perOp := func(name string, get func(*record.Run, *record.Role) (float64, bool)) Figure {
		vs, why := r.each(name, func(x *record.Run) (float64, bool) { return perOperation(x, get) })
		return r.median(vs, why)
	}
	r.Voluntary = perOp("switches", func(x *record.Run, role *record.Role) (float64, bool) {
		if s := switches(x, role); s != nil {
			return float64(s.Voluntary), true
		}
		return 0, false
	})
	r.Involuntary = perOp("switches", func(x *record.Run, role *record.Role) (float64, bool) {
		if s := switches(x, role); s != nil {
			return float64(s.Involuntary), true
		}
		return 0, false
	})
	r.CPU = perOp("cpu_ns", func(x *record.Run, role *record.Role) (float64, bool) {
		if c := cpu(x, role); c != nil {
			return float64(c.User + c.System), true
		}
		return 0, false
	})
	r.userShare(acc)
	r.Fairness = r.median(r.each("fairness", func(x *record.Run) (float64, bool) { return value(x.Fairness) }))
	r.connect()
}

// each gives what get finds in the runs, and why it is not in those that lack
// it.
func (r *Row) each(name string, get func(*record.Run) (float64, bool)) (vs []float64, why string) {
	for i := range r.OK {
		if v, ok := get(&r.OK[i]); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			vs = append(vs, v)
		} else if why == "" {
			why = reason(r.OK[i].Unavailable, name)
		}
	}
	return vs, why
}

// median makes a figure of the values of some runs; why is the reason of the
// others.
func (r *Row) median(vs []float64, why string) Figure {
	m, err := stats.Median(vs)
	if err != nil {
		return missing(why)
	}
	f := known(m)
	if len(vs) < len(r.OK) {
		f.Note = fmt.Sprintf("from %d of %d runs: %s", len(vs), len(r.OK), why)
	}
	return f
}

func spread(rates []float64, why string) Figure {
	switch len(rates) {
	case 0:
		return missing(why)
	case 1:
		return missing("one run has no spread")
	}
	least, _ := stats.Min(rates)
	greatest, _ := stats.Max(rates)
	m, _ := stats.Median(rates)
	if m == 0 {
		return missing("the median is 0")
	}
	return known(100 * (greatest - least) / 2 / m)
}

func (r *Row) latency() {
	var all histogram.Histogram
	n, why := 0, ""
	for _, x := range r.OK {
		h, err := histogram.FromRecord(x.Histogram, x.LatencyNS)
		switch {
		case x.Histogram == nil:
			why = cmp.Or(why, reason(x.Unavailable, "latency_ns"))
		case err != nil:
			why = cmp.Or(why, err.Error())
		default:
			all.Merge(h)
			n++
		}
	}
	at := func(q float64) Figure {
		v, ok := all.Quantile(q)
		if !ok {
			return missing(cmp.Or(why, "no operation was timed"))
		}
		f := known(float64(v))
		if n < len(r.OK) {
			f.Note = fmt.Sprintf("from %d of %d runs: %s", n, len(r.OK), why)
		}
		return f
	}
	r.P50, r.P99 = at(0.50), at(0.99)
}

// perOperation adds up what an operation cost in each role, by the operations
// that the role's own snapshots saw; without roles, by the run's.
func perOperation(x *record.Run, get func(*record.Run, *record.Role) (float64, bool)) (float64, bool) {
	if len(x.Roles) == 0 {
		v, ok := get(x, nil)
		if !ok || x.Ops == nil || *x.Ops == 0 {
			return 0, false
		}
		return v / float64(*x.Ops), true
	}
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(x.Roles)) {
		role := x.Roles[name]
		v, ok := get(x, &role)
		if !ok || role.Ops == 0 {
			return 0, false
		}
		sum += v / float64(role.Ops)
	}
	return sum, true
}

func switches(x *record.Run, role *record.Role) *record.Switches {
	if role != nil {
		return role.Switches
	}
	return x.Switches
}

func cpu(x *record.Run, role *record.Role) *record.CPU {
	if role != nil {
		return role.CPUNS
	}
	return x.CPUNS
}

func (r *Row) userShare(acc Accounting) {
	if r.CPU.Missing != "" {
		r.UserShare = r.CPU
		return
	}
	var user, all int64
	for _, x := range r.OK {
		parts := []*record.CPU{x.CPUNS}
		if x.CPUNS == nil {
			parts = nil
			for _, role := range x.Roles {
				parts = append(parts, role.CPUNS)
			}
		}
		for _, c := range parts {
			if c != nil {
				user += c.User
				all += c.User + c.System
			}
		}
	}
	tick := cmp.Or(acc.TickNS, defaultTick)
	switch {
	case all == 0:
		r.UserShare = missing("no time on a CPU was counted")
	case !acc.Exact && all/tick < minTicks:
		r.UserShare = missing(fmt.Sprintf("user and system time are sampled at ticks, and under %d of them are too few to tell the two apart: more runs or a longer --window", minTicks))
	default:
		r.UserShare = known(100 * float64(user) / float64(all))
	}
}

func (r *Row) lockShare() {
	var waits, takings uint64
	why := ""
	for _, x := range r.OK {
		if x.LockWaits == nil || x.LockTakings == nil {
			why = cmp.Or(why, reason(x.Unavailable, "user_lock_takings"))
			continue
		}
		waits += *x.LockWaits
		takings += *x.LockTakings
	}
	if takings == 0 {
		r.LockShare = missing(cmp.Or(why, "nobody took it"))
		return
	}
	r.LockShare = known(100 * float64(waits) / float64(takings))
}

func (r *Row) connect() {
	var least, avg, greatest []float64
	why := ""
	for _, x := range r.OK {
		if x.ConnectNS == nil {
			why = cmp.Or(why, reason(x.Unavailable, "connect_ns"))
			continue
		}
		least = append(least, float64(x.ConnectNS.Min))
		avg = append(avg, x.ConnectNS.Avg)
		greatest = append(greatest, float64(x.ConnectNS.Max))
	}
	figure := func(v float64, err error) Figure {
		if err != nil {
			return missing(why)
		}
		return known(v)
	}
	r.ConnectMin = figure(stats.Min(least))
	r.ConnectAvg = figure(stats.Mean(avg))
	r.ConnectMax = figure(stats.Max(greatest))
}

func value(p *float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

func reason(unavailable map[string]string, name string) string {
	if why := unavailable[name]; why != "" {
		return why
	}
	return "the record has no " + name + " and no reason for it"
}
