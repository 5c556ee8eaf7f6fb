package runner

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"udsbench/pingpong"
	"udsbench/record"
)

// everyCell lists what the catalogue lets exist: workloads found by the
// registry, over all transports, addresses and models.
func everyCell(parallel int) (cells []record.Cell) {
	for _, name := range pingpong.Names() {
		w, err := pingpong.Lookup(name)
		if err != nil {
			panic(err)
		}
		for _, transport := range pingpong.Transports {
			for _, address := range w.AddressesOver(transport) {
				for _, model := range pingpong.Models {
					for _, server := range pingpong.Models {
						for _, one := range []bool{false, true} {
							c := cell(record.Cell{Workload: name, Transport: transport, Address: address,
								Model: model, ServerModel: server, OneProcess: one, Parallel: parallel})
							if (pingpong.Catalogue{}).Check(c) != nil {
								continue
							}
							// All models with the first address, the others with those that
							// the workload has by itself.
							usual := cell(record.Cell{Workload: name, Transport: transport, Address: address})
							if address == w.AddressesOver(transport)[0] ||
								c.Model == usual.Model && c.ServerModel == usual.ServerModel {
								cells = append(cells, c)
							}
						}
					}
				}
			}
		}
	}
	return cells
}

func TestEveryCellRuns(t *testing.T) {
	cells := everyCell(3)
	if len(cells) < 100 {
		t.Fatalf("only %d cells can exist", len(cells))
	}
	o := options(t)
	o.Slice = 20 * time.Millisecond
	for _, c := range cells {
		if c.Model == "goroutine" || c.ServerModel == "goroutine" {
			// The Go scheduler may let a reader wait for tens of milliseconds.
			o.Window = 200 * time.Millisecond
		} else {
			o.Window = 40 * time.Millisecond
		}
		t.Run(fmt.Sprintf("%s/%s/%s/%s-%s-%v", c.Workload, c.Transport, c.Address, c.Model, c.ServerModel, c.OneProcess), func(t *testing.T) {
			check(t, measure(t, c, o))
		})
	}
}

// check holds every record to what all records promise.
func check(t *testing.T, r *record.Run) {
	t.Helper()
	if *r.Ops == 0 {
		t.Error("no operation")
	}
	var slices, counted uint64
	for _, n := range r.Slices {
		slices += n
	}
	w, _ := pingpong.Lookup(r.Cell.Workload)
	for _, x := range r.Workers {
		if x.Role == w.Counts() {
			counted += x.Ops
		}
	}
	if slices != *r.Ops || counted != *r.Ops {
		t.Errorf("ops %d, in slices %d, of the %ss %d", *r.Ops, slices, w.Counts(), counted)
	}
	if rate := float64(*r.Ops) / *r.WindowS; math.Abs(rate / *r.OpsPerS - 1) > 1e-9 {
		t.Errorf("%v op/s of %d ops in %v s", *r.OpsPerS, *r.Ops, *r.WindowS)
	}
	if r.LatencyNS != nil {
		var n uint64
		for _, b := range r.Histogram.Buckets {
			n += b[1]
		}
		if l := r.LatencyNS; l.Count != n || l.Min > l.P50 || l.P50 > l.P99 || l.P99 > l.Max {
			t.Errorf("latency %+v of %d in the histogram", *l, n)
		}
	}
	if r.LostMessages != nil && *r.LostMessages != 0 {
		t.Errorf("%d messages were lost", *r.LostMessages)
	}
	if f := r.Fairness; f != nil && (*f > 1+1e-9 || *f < 1/float64(r.Cell.Parallel)-1e-9) {
		t.Errorf("fairness %v of %d clients", *f, r.Cell.Parallel)
	}
	if r.Shares == nil || r.Shares.Slowest.Ops > r.Shares.Fastest.Ops {
		t.Errorf("shares %+v", r.Shares)
	}
	for name, role := range r.Roles {
		x := role.Time
		switch {
		case x == nil && r.Unavailable["roles."+name+".time"] == "":
			t.Errorf("%s: no time, and no reason", name)
		case x == nil:
		case x.RunnableNS == nil || x.BlockedNS == nil:
			if x.OffNS == nil || r.Unavailable["roles."+name+".time.blocked_ns"] == "" || x.OnNS+*x.OffNS != x.WallNS {
				t.Errorf("%s: %+v", name, *x)
			}
		case x.OnNS+*x.RunnableNS+*x.BlockedNS != x.WallNS || *x.BlockedNS < 0 || x.Ops != role.Ops || x.Threads > role.Workers:
			t.Errorf("%s: %d on CPU, %d runnable, %d blocked of %d ns: %+v", name, x.OnNS, *x.RunnableNS, *x.BlockedNS, x.WallNS, *x)
		}
	}
	pairs := map[string]bool{}
	for _, x := range r.Workers {
		if x.Pair != nil {
			if *x.Pair != x.Index {
				t.Errorf("%s %d has pair %d", x.Role, x.Index, *x.Pair)
			}
			pairs[fmt.Sprint(x.Role, *x.Pair)] = true
		}
	}
	if w.Wiring == pingpong.Pairs && len(pairs) != 2*r.Cell.Parallel {
		t.Errorf("%d ends of pairs, want %d", len(pairs), 2*r.Cell.Parallel)
	}
	absent(t, "record", reflect.ValueOf(*r), r.Unavailable)
	for _, x := range r.Workers {
		absent(t, fmt.Sprint(x.Role, x.Index), reflect.ValueOf(x), x.Unavailable)
	}
}

// absent finds fields that are missing without a reason: nil pointers and nil
// slices, whose name must be under unavailable.
func absent(t *testing.T, what string, v reflect.Value, reasons map[string]string) {
	t.Helper()
	optional := []string{"error", "errors", "warnings", "unavailable", "workers", "slice_ns", "roles", "locks", "instruments", "sched", "paired", "idle_latency_us", "counters", "switch_causes", "effective"}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f := v.Field(i)
		if k := f.Kind(); k != reflect.Pointer && k != reflect.Slice && k != reflect.Map || !f.IsNil() || slices.Contains(optional, name) {
			continue
		}
		if reasons[name] == "" {
			t.Errorf("%s: %s is absent without a reason", what, name)
		}
	}
}

func TestSameCPUSwitchesOncePerMessage(t *testing.T) {
	for _, model := range []string{"process", "thread"} {
		o := options(t)
		o.Window = 400 * time.Millisecond
		o.CPUs = []int{0, 0}
		var r *record.Run
		var unlike []string
		for range 4 { // what else runs on the CPU now and then adds switches
			r, unlike = measure(t, cell(record.Cell{Workload: "pingpong", Model: model, Clock: "none"}), o), nil
			for name, role := range r.Roles {
				if per := float64(role.Switches.Voluntary) / float64(role.Ops); math.Abs(per-1) > 0.02 {
					unlike = append(unlike, fmt.Sprintf("%s, %s: %.3f voluntary switches an operation, want 1.00 ± 0.02", model, name, per))
				}
			}
			if unlike == nil {
				break
			}
		}
		if unlike != nil {
			t.Error("four times over, last:", unlike)
		}
		for _, w := range r.Workers {
			if !slices.Equal(w.CPUs, []int{0}) || *w.CPUSeen != 0 {
				t.Errorf("%s %d: mask %v, seen on %d", w.Role, w.Index, w.CPUs, *w.CPUSeen)
			}
		}
	}
}

// The rate does not depend on how long the window is. The windows are
// interleaved, and medians compared, since the machine is not alone.
func TestRateIsByElapsedTime(t *testing.T) {
	c := cell(record.Cell{Workload: "pingpong"})
	windows := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}
	median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	var why string
	for range 3 { // a machine that is busy elsewhere is given three chances
		why = ""
		rates := map[time.Duration][]float64{}
		for range 7 {
			for _, w := range windows {
				o := options(t)
				o.Window, o.CPUs = w, []int{0, 0}
				rates[w] = append(rates[w], *measure(t, c, o).OpsPerS)
			}
		}
		middle := median(rates[windows[1]])
		for _, w := range windows {
			if ratio := median(rates[w]) / middle; ratio < 0.85 || ratio > 1.18 {
				why = fmt.Sprintf("window %v: %.2f of the rate of %v", w, ratio, windows[1])
			}
		}
		if why == "" {
			return
		}
	}
	t.Error(why)
}

func TestOpsEndARun(t *testing.T) {
	for _, name := range pingpong.Names() {
		if w, err := pingpong.Lookup(name); err != nil || w.Only != "" && w.Only != runtime.GOOS {
			continue
		}
		c := cell(record.Cell{Workload: name, Parallel: 3})
		o := options(t)
		o.Ops = 500
		r := measure(t, c, o)
		if *r.Ops != 1500 {
			t.Errorf("%s: %d operations, want 3 times 500", name, *r.Ops)
		}
		for _, w := range r.Workers {
			if w.Role == record.Client && w.OpsTotal != 500 {
				t.Errorf("%s: client %d did %d operations", name, w.Index, w.OpsTotal)
			}
		}
		if r.LatencyNS != nil && r.LatencyNS.Count != 1500 {
			t.Errorf("%s: %d operations timed", name, r.LatencyNS.Count)
		}
	}
}

func TestMessageSizes(t *testing.T) {
	for _, transport := range pingpong.Transports {
		for _, size := range []int{1, 7, 4096, 65536, 1 << 20} {
			c := cell(record.Cell{Workload: "pingpong", Transport: transport, Request: size, Response: max(size/3, 1), Parallel: 2})
			if err := (pingpong.Catalogue{}).Check(c); err != nil {
				if size < 65536 {
					t.Errorf("%s, %d bytes: %v", transport, size, err)
				}
				continue
			}
			o := options(t)
			o.Window, o.Slice = 20*time.Millisecond, 20*time.Millisecond
			measure(t, c, o)
		}
	}
}

func TestClocks(t *testing.T) {
	for _, clock := range []string{"none", "vdso", "syscall", "tsc", "every=7"} {
		c := cell(record.Cell{Workload: "pingpong", Clock: clock})
		if err := (pingpong.Catalogue{}).Check(c); err != nil {
			if clock == "tsc" {
				continue // the kernel has not accepted this machine's counter
			}
			t.Fatal(err)
		}
		o := options(t)
		o.CPUs = []int{0, 0}
		r := measure(t, c, o)
		if clock == "none" {
			if r.LatencyNS != nil || r.Unavailable["latency_ns"] == "" {
				t.Errorf("without a clock there is no latency, yet %+v", r.LatencyNS)
			}
			continue
		}
		// With one pair, the latencies of a chained clock fill the time between the
		// client's own snapshots; single ones are as long as the mean operation.
		of := func(r *record.Run) (ratio, each float64) {
			client := r.Workers[0]
			each = float64(client.WindowNS) / float64(client.SnapshotOps)
			return r.LatencyNS.Mean / each, each
		}
		// Single ones miss what interrupts the loop between two of them.
		for range 3 {
			if ratio, _ := of(r); ratio >= 0.9 {
				break
			}
			r = measure(t, c, o)
		}
		ratio, each := of(r)
		if ratio < 0.9 || ratio > 1.1 && clock != "every=7" || ratio > 2 {
			t.Errorf("%s: mean latency %.0f ns, but an operation takes %.0f ns: %.2f", clock, r.LatencyNS.Mean, each, ratio)
		}
		share := float64(r.LatencyNS.Count) / float64(*r.Ops)
		want := 1.0
		if clock == "every=7" {
			want = 1.0 / 7
		}
		if math.Abs(share/want-1) > 0.2 {
			t.Errorf("%s: %.3f of the operations timed, want %.3f", clock, share, want)
		}
		if *r.ClockCostNS <= 0 {
			t.Errorf("%s costs %v ns", clock, *r.ClockCostNS)
		}
	}
}

func TestRecordIsJSON(t *testing.T) {
	r := measure(t, cell(record.Cell{Workload: "fanin", Parallel: 4}), options(t))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back record.Run
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*r, back) {
		t.Error("a record does not survive JSON")
	}
}
