package report

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/montanaflynn/stats"

	"udsbench/record"
)

// The bounds beyond which a figure is worth a warning.
const (
	wideSpread = 5.0  // percent
	farFirst   = 5.0  // percent
	uneven     = 0.9  // Jain's index
	lateLoop   = 0.02 // of an open loop's schedule may be left undone
	busyCPUs   = 0.05 // CPUs kept busy by others, or taken by the hypervisor
)

// warnings says in plain words what is to be known about the rows: what is
// drawn from the figures first, then what the runs themselves said.
func warnings(rows []Row, runs []record.Run, id identity, guest bool) []string {
	var out []string
	for _, find := range []func([]Row, identity) string{wide, first, overloaded, lost, unfair, starved, retried, foreign, stolen} {
		if w := find(rows, id); w != "" {
			out = append(out, w)
		}
	}
	out = append(out, idle(rows, runs, id, guest)...)
	return append(out, said(rows)...)
}

// worst collects how many rows are concerned, and which most.
type worst struct {
	n    int
	most float64
	text string
}

func (w *worst) add(size float64, text string) {
	w.n++
	if w.n == 1 || math.Abs(size) > math.Abs(w.most) {
		w.most, w.text = size, text
	}
}

func (w *worst) in(rows []Row) string {
	return fmt.Sprintf("in %d of %s (most: %s)", w.n, plural(len(rows), "cell"), w.text)
}

func wide(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		if r.Spread.Missing == "" && r.Spread.Value > wideSpread {
			w.add(r.Spread.Value, id.name(r.Cell)+", ±"+percent(r.Spread.Value))
		}
	}
	if w.n == 0 {
		return ""
	}
	return "runs of one cell differ by more than ±5 % " + w.in(rows) + ": take more runs (--runs) and quiet the machine"
}

// first looks for a first run that lies outside of all the others.
func first(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		rates, _ := r.each("ops_per_s", func(x *record.Run) (float64, bool) { return value(x.OpsPerS) })
		if len(rates) < 3 {
			continue
		}
		m, _ := stats.Median(rates[1:])
		least, _ := stats.Min(rates[1:])
		greatest, _ := stats.Max(rates[1:])
		off := 100 * (rates[0] - m) / m
		if m > 0 && math.Abs(off) > farFirst && math.Abs(rates[0]-m) > greatest-least {
			w.add(off, fmt.Sprintf("%s, %+.0f %%", id.name(r.Cell), off))
		}
	}
	if w.n == 0 {
		return ""
	}
	return "the first run differs from the rest " + w.in(rows) + ": --discard 1 leaves it out"
}

// overloaded looks for open loops that did less than their schedule asked for. A
// client's schedule may begin or end between two of its operations.
func overloaded(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		most, text := 0.0, ""
		for _, x := range r.OK {
			if x.OfferedPerS == nil || x.OpsPerS == nil || x.WindowS == nil {
				continue
			}
			asked := *x.OfferedPerS * *x.WindowS
			short := asked - *x.OpsPerS**x.WindowS
			if short > lateLoop*asked+float64(r.Cell.Parallel) && short/asked > most {
				most = short / asked
				text = fmt.Sprintf("%s, %s op/s offered and %s done", id.name(r.Cell), Count(*x.OfferedPerS), Count(*x.OpsPerS))
			}
		}
		if text != "" {
			w.add(most, text)
		}
	}
	if w.n == 0 {
		return ""
	}
	return "the open loop was overloaded " + w.in(rows) + ": operations waited for their turn, ever longer, and latency is that of a queue as long as the run; lower --rate"
}

// lost looks for messages that were sent and never came.
func lost(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		var most uint64
		for _, x := range r.OK {
			if x.LostMessages != nil {
				most = max(most, *x.LostMessages)
			}
		}
		if most > 0 {
			w.add(float64(most), fmt.Sprintf("%s, %d in one run", id.name(r.Cell), most))
		}
	}
	if w.n == 0 {
		return ""
	}
	return "messages were sent that never came " + w.in(rows)
}

// unfair looks for runs whose operations fell on some of the workers.
func unfair(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		var least *record.Run
		for i := range r.OK {
			x := &r.OK[i]
			if x.Fairness != nil && x.Shares != nil && *x.Fairness < uneven && (least == nil || *x.Fairness < *least.Fairness) {
				least = x
			}
		}
		if least != nil {
			slow, fast := least.Shares.Slowest, least.Shares.Fastest
			w.add(1-*least.Fairness, fmt.Sprintf("%s, Jain's index %.2f: %s %d did %s, %s %d did %s", id.name(r.Cell), *least.Fairness,
				fast.Role, fast.Index, plural(int(fast.Ops), "operation"), slow.Role, slow.Index, plural(int(slow.Ops), "operation")))
		}
	}
	if w.n == 0 {
		return ""
	}
	return "operations fell unevenly on the clients of a run " + w.in(rows)
}

func starved(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		most, of := 0, 0
		for _, x := range r.OK {
			n, all := 0, 0
			if x.Shares != nil {
				n = x.Shares.Hungry
				for _, role := range x.Roles {
					all += role.Workers
				}
			} else {
				for _, k := range x.Workers {
					if k.StarvedSlices > 0 {
						n++
					}
				}
				all = len(x.Workers)
			}
			if n > most {
				most, of = n, all
			}
		}
		if most > 0 {
			w.add(float64(most)/float64(of), fmt.Sprintf("%s, %d of %d", id.name(r.Cell), most, of))
		}
	}
	if w.n == 0 {
		return ""
	}
	return "workers starved, doing nothing for a slice or more, " + w.in(rows)
}

func retried(rows []Row, id identity) string {
	var w worst
	for _, r := range rows {
		counts := map[string]uint64{}
		var ops, all uint64
		for _, x := range r.OK {
			for name, n := range x.Errors {
				counts[name] += n
				all += n
			}
			switch { // errors are counted outside of the window too
			case x.ErrorsOps != nil:
				ops += *x.ErrorsOps
			case x.Ops != nil:
				ops += *x.Ops
			}
		}
		if all == 0 || ops == 0 {
			continue
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			parts = append(parts, fmt.Sprintf("%s %s an operation", name, smallest(float64(counts[name])/float64(ops))))
		}
		w.add(float64(all)/float64(ops), id.name(r.Cell)+", "+strings.Join(parts, ", "))
	}
	if w.n == 0 {
		return ""
	}
	return "calls were refused and tried again " + w.in(rows)
}

// smallest writes a rate that is more than 0 as more than 0.
func smallest(v float64) string {
	if v < 0.005 {
		return "under 0.01"
	}
	return digits(v)
}

func foreign(rows []Row, id identity) string {
	w := host(rows, id, func(h *record.Host) *int64 { return h.ForeignCPUNS })
	if w.n == 0 {
		return ""
	}
	return "other processes kept CPUs busy during the window " + w.in(rows)
}

func stolen(rows []Row, id identity) string {
	w := host(rows, id, func(h *record.Host) *int64 { return h.StealNS })
	if w.n == 0 {
		return ""
	}
	return "the hypervisor took CPU time during the window " + w.in(rows)
}

// host looks for CPU time that others had, in CPUs.
func host(rows []Row, id identity, get func(*record.Host) *int64) worst {
	var w worst
	for _, r := range rows {
		most := 0.0
		for _, x := range r.OK {
			if x.Host == nil || x.WindowS == nil {
				continue
			}
			if ns := get(x.Host); ns != nil {
				most = max(most, float64(*ns)/1e9 / *x.WindowS)
			}
		}
		if most > busyCPUs {
			w.add(most, fmt.Sprintf("%s, %.2f CPUs", id.name(r.Cell), most))
		}
	}
	return w
}

// number is a number with the unit of a time behind it, if it has one.
var number = regexp.MustCompile(`[0-9][0-9.]*(ns|µs|ms|s|m)?`)

// said gathers what the runs themselves warn of. Texts that differ in numbers
// alone are one, with the first as the example.
func said(rows []Row) []string {
	type group struct {
		example string
		runs    int
	}
	groups := map[string]*group{}
	var order []string
	all := 0
	add := func(text string) {
		key := number.ReplaceAllString(text, "#")
		if groups[key] == nil {
			groups[key] = &group{example: text}
			order = append(order, key)
		}
		groups[key].runs++
	}
	for _, r := range rows {
		for _, x := range r.OK {
			all++
			for _, w := range x.Warnings {
				add(w)
			}
			if strings.HasPrefix(x.Coordinator, "not ") {
				add("the coordinator ran " + x.Coordinator + ": its readings of the counters may come late")
			}
		}
	}
	var out []string
	for _, key := range order {
		g := groups[key]
		text := g.example
		if g.runs < all {
			text += fmt.Sprintf(" (this or alike in %d of %d runs)", g.runs, all)
		}
		out = append(out, text)
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
