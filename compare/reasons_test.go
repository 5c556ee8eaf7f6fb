package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"udsbench/record"
	"udsbench/series"
)

func usl(lambda, sigma, kappa float64, n int) float64 {
	N := float64(n)
	return lambda * N / (1 + sigma*(N-1) + kappa*N*(N-1))
}

func TestScalingLawIsFound(t *testing.T) {
	rungs := []int{1, 2, 4, 10, 25, 50, 100}
	for _, c := range []struct{ sigma, kappa float64 }{{0.05, 0.0005}, {0.3, 0.002}, {0.02, 0.0001}} {
		inside := [3]int{}
		const rounds = 200
		for seed := range uint64(rounds) {
			rng := rand.New(rand.NewPCG(5, seed))
			var ns []int
			var xs []float64
			for _, n := range rungs {
				for range 5 {
					ns, xs = append(ns, n), append(xs, usl(20000, c.sigma, c.kappa, n)*math.Exp(0.02*rng.NormFloat64()))
				}
			}
			f := FitUSL(ns, xs)
			if f.Refused != "" {
				t.Fatalf("σ %g, κ %g: %s", c.sigma, c.kappa, f.Refused)
			}
			peak := math.Sqrt((1 - c.sigma) / c.kappa)
			for i, x := range []struct {
				e    Estimate
				true float64
			}{{f.Sigma, c.sigma}, {f.Kappa, c.kappa}, {*f.Peak, peak}} {
				if x.e.Lo <= x.true && x.true <= x.e.Hi {
					inside[i]++
				}
			}
		}
		for i, n := range inside {
			if share := float64(n) / rounds; share < 0.90 {
				t.Errorf("σ %g, κ %g: interval %d covers the truth in %.0f %% of fits", c.sigma, c.kappa, i, 100*share)
			}
		}
	}
}

func TestScalingLawIsRefused(t *testing.T) {
	if f := FitUSL([]int{1, 10, 100}, []float64{1, 5, 9}); !strings.Contains(f.Refused, "too few") {
		t.Errorf("three rungs: %+v", f)
	}
	// A saw is no scaling law.
	if f := FitUSL([]int{1, 2, 4, 8, 16, 32}, []float64{100, 300, 120, 900, 200, 1000}); !strings.Contains(f.Refused, "does not fit") {
		t.Errorf("a saw: %+v", f)
	}
	// Better than linear: contention would be negative, and is held at 0.
	f := FitUSL([]int{1, 2, 4, 8}, []float64{100, 205, 420, 850})
	if f.Refused != "" || f.Sigma.Value != 0 || f.Kappa.Value != 0 || f.Peak != nil {
		t.Errorf("better than linear: %+v", f)
	}
	if text, err := json.Marshal(f); err != nil || !strings.Contains(string(text), `"contention":[0,0,0]`) {
		t.Errorf("%s %v", text, err)
	}
}

func TestCrossing(t *testing.T) {
	var cells []record.Cell
	for _, n := range []int{1, 4, 16, 64} {
		cells = append(cells, cell("pingpong", "unix-stream", n))
	}
	a := Side{Name: "a", Runs: campaign(1, "a", 6, 4, cells, flat)}
	b := Side{Name: "b", Runs: campaign(2, "b", 6, 4, cells, func(c record.Cell) float64 {
		return 10 + 0.1*(math.Log(8)-math.Log(float64(c.Parallel)))/math.Log(8) // 1 at 8 clients
	})}
	r, err := Compare(Input{Sides: []Side{a, b}, Threshold: 0.02, Discard: series.Auto})
	if err != nil {
		t.Fatal(err)
	}
	l := r.Pairs[0].Ladders
	if len(l) != 1 || len(l[0].Rungs) != 4 || len(l[0].Crossings) != 1 {
		t.Fatalf("%d ladders, %+v", len(l), l[0])
	}
	x := l[0].Crossings[0]
	if x.Better != "b" || x.Below != 4 || x.Above != 16 || math.Abs(x.At-8) > 2 || !x.Sure {
		t.Errorf("%+v", x)
	}
}

// roles makes a record whose parts are known: two roles of ten workers.
func roles(r *record.Run, user, system, delay, wall float64) {
	const ops = 1000
	window := wall / 2 * ops / 1e9 / 10 // the workers of a role share the operations
	r.WindowS = &window
	d, w, asleep := int64(delay/2*ops), int64(wall/2*ops), int64((wall-user-system-delay)/2*ops)
	one := record.Role{Processes: 10, Workers: 10, Ops: ops, CPUNS: &record.CPU{User: int64(user / 2 * ops), System: int64(system / 2 * ops)}}
	one.Time = &record.Time{Ops: ops, WallNS: w, OnNS: int64((user + system) / 2 * ops), RunnableNS: &d, BlockedNS: &asleep}
	r.Roles = map[string]record.Role{record.Client: one, record.Server: one}
}

func TestTimeIsSplit(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 10)}
	rng := rand.New(rand.NewPCG(1, 1))
	about := func(x float64) float64 { return x * (1 + 0.005*rng.NormFloat64()) }
	a := Side{Name: "a", Runs: campaign(1, "a", 6, 5, cells, flat), Environments: []Environment{{"sched.cpu_accounting": "gen"}}}
	b := Side{Name: "b", Runs: campaign(2, "b", 6, 5, cells, func(record.Cell) float64 { return 10.2 }), Environments: []Environment{{"sched.cpu_accounting": "gen"}}}
	for i := range a.Runs {
		roles(&a.Runs[i], about(1000), about(6000), about(2000), about(20000))
		roles(&b.Runs[i], about(1000), about(3000), about(2000), about(17000))
	}
	r, err := Compare(Input{Sides: []Side{a, b}, Threshold: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cells()[0]
	if c.Verdict != Faster || len(c.Reasons) == 0 || c.Reasons[0].Kind != "time" {
		t.Fatalf("%s, reasons %v", c.Verdict, c.Reasons)
	}
	split := c.Reasons[0].Data.(*TimeSplit)
	want := map[string]float64{wall: -3000, onCPU: -3000, system: -3000, user: 0, runnable: 0, asleep: 0}
	if len(split.Parts) != len(want) || split.Withheld != nil {
		t.Fatalf("%+v", split)
	}
	for _, p := range split.Parts {
		if p.Lo-20 > want[p.Name] || p.Hi+20 < want[p.Name] || math.Abs(p.Change-want[p.Name]) > 200 {
			t.Errorf("%s: %+v, want a change of %g", p.Name, p, want[p.Name])
		}
	}
	// With the sampled split of most kernels and few ticks, user and system are withheld.
	a.Environments, b.Environments = []Environment{{"sched.cpu_accounting": "tick", "clock.hz": "100"}}, nil
	r, err = Compare(Input{Sides: []Side{a, b}, Threshold: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	split = r.Cells()[0].Reasons[0].Data.(*TimeSplit)
	if len(split.Parts) != 4 || len(split.Withheld) != 1 || !strings.Contains(split.Withheld[0], "sampled at ticks") {
		t.Errorf("%+v", split)
	}
	// Without the figures there is no split, and no zero.
	for i := range a.Runs {
		a.Runs[i].Roles = nil
	}
	r, err = Compare(Input{Sides: []Side{a, b}, Threshold: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(r.Cells()[0].Reasons, func(r Reason) bool { return r.Kind == "time" }) {
		t.Error("a split out of nothing")
	}
}

// A finer lock of each socket: what is aimed at it gains with clients, nothing
// else moves, and waiting falls.
func TestAttribution(t *testing.T) {
	var cells []record.Cell
	for _, n := range []int{1, 10, 100} {
		cells = append(cells, cell("fanin-shared", "unix-stream", n), cell("pingpong", "unix-stream", n), cell("pingpong", "pipe", n))
	}
	gain := func(c record.Cell) float64 {
		if c.Workload == "fanin-shared" {
			return 10 + 0.1*math.Log10(float64(c.Parallel)) - 0.01
		}
		return 10
	}
	waits := func(ns float64) []LockWait {
		var all []record.Run
		rng := rand.New(rand.NewPCG(4, uint64(ns)))
		for _, c := range cells {
			for range 5 {
				total, ops, cpus := int64(ns*(1+0.05*rng.NormFloat64())*1000), uint64(1000), 2
				other := total * 10 // a lock that nobody speaks of
				all = append(all, record.Run{Kind: record.Instrumented, Status: record.OK, Cell: c, Ops: &ops,
					Instruments: []record.Instrument{{Name: "locks", Source: "ebpf", CPUs: cpus}},
					Locks: []record.Lock{
						{Site: "unix_stream_sendmsg", Class: record.ClassSocket, Where: record.InWorkers, TotalNS: &total},
						{Site: "folio_wait", Class: record.ClassMemory, Where: record.InKthread, TotalNS: &other}}})
			}
		}
		return LocksOf(all)
	}
	result := func(gain func(record.Cell) float64, cells []record.Cell, before, after []LockWait) *Attribution {
		t.Helper()
		a := Side{Name: "a", Runs: campaign(1, "a", 10, 5, cells, flat), Locks: before}
		b := Side{Name: "b", Runs: campaign(900, "b", 10, 5, cells, gain), Locks: after}
		r, err := Compare(Input{Sides: []Side{a, b}, Threshold: 0.03})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Pairs[0].Ladders {
			for i := range l.Attributed {
				if l.Rungs[0].Cell.Workload == "fanin-shared" && l.Attributed[i].Scope == "socket" {
					return &l.Attributed[i]
				}
			}
		}
		return nil
	}
	holds := func(a *Attribution) string {
		var hs []string
		for _, c := range a.Conditions {
			hs = append(hs, string(c.Holds))
		}
		return strings.Join(hs, ",")
	}
	for _, c := range []struct {
		name          string
		gain          func(record.Cell) float64
		cells         []record.Cell
		before, after []LockWait
		said          bool
		holds         string
	}{
		{"all conditions hold", gain, cells, waits(3000), waits(1000), true, "yes,yes,yes,yes,yes"},
		{"no instrumented runs", gain, cells, nil, nil, false, "yes,yes,yes,not known,yes"},
		{"waiting stayed", gain, cells, waits(3000), waits(3001), false, "yes,yes,yes,no,yes"},
		{"everything moved alike", func(record.Cell) float64 { return 10.1 }, cells, waits(3000), waits(1000), false, "yes,no,no,yes,no"},
		{"no nulls beside it", gain, []record.Cell{cells[0], cells[3], cells[6]}, waits(3000), waits(1000), false, "yes,not known,yes,yes,yes"},
		{"no single client", gain, cells[3:], waits(3000), waits(1000), false, "yes,yes,yes,yes,not known"},
	} {
		a := result(c.gain, c.cells, c.before, c.after)
		if a == nil {
			t.Errorf("%s: nothing is said", c.name)
			continue
		}
		if a.Said != c.said || holds(a) != c.holds || (a.Text == "it is the socket lock") != c.said {
			t.Errorf("%s: said %v, %s, %q, want %v, %s\n%+v", c.name, a.Said, holds(a), a.Text, c.said, c.holds, a.Conditions)
		}
	}
	// Instrumented, but nothing seen: that is not known, never 0.
	ops := uint64(1000)
	var blind []LockWait
	for _, c := range cells {
		blind = append(blind, LocksOf([]record.Run{{Kind: record.Instrumented, Status: record.OK, Cell: c, Ops: &ops,
			Instruments: []record.Instrument{{Name: "locks", Source: "ebpf", Blind: []string{"first waiters"}}}}})...)
	}
	if a := result(gain, cells, waits(3000), blind); a.Said || !strings.Contains(a.Conditions[3].Text, "which is not 0 (it cannot see: first waiters)") {
		t.Errorf("%+v", a)
	}
	if a := result(flat, cells, nil, nil); a != nil {
		t.Errorf("nothing moved, and yet: %+v", a)
	}
}

func TestConfounders(t *testing.T) {
	env := func(release, governor, load string) Environment {
		e, err := Flatten(json.RawMessage(fmt.Sprintf(`{"schema":1,"boot_id":%q,"gathered":"now","kernel_fingerprint":%q,"kernel":{"release":%q,"uptime_s":12.5},
			"cpu":{"governors":[%q],"smt":true},"sysctl":{"net.unix.max_dgram_qlen":"512"},"load":{"load1":%s}}`, release+governor+load+release, "f"+release, release, governor, load)))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	cells := []record.Cell{cell("pingpong", "unix-stream", 1)}
	side := func(name, release, governor, load string, hour int) Side {
		s := Side{Name: name, Runs: campaign(1, name, 3, 3, cells, flat), Environments: []Environment{env(release, governor, load), env(release, governor, load)}}
		for i := range s.Runs {
			s.Runs[i].Start = fmt.Sprintf("2026-03-01T%02d:00:%02dZ", hour, i)
		}
		return s
	}
	texts := func(a, b Side, factors ...string) []string {
		r, err := Compare(Input{Sides: []Side{a, b}, Threshold: 0.02, Factors: factors})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, c := range r.Confounders {
			all = append(all, c.Text)
		}
		return all
	}
	a, b := side("a", "6.1", "performance", "0.1", 10), side("b", "6.2", "powersave", "5.0", 10)
	kernel := []string{"frequency governor: performance → powersave", "load when it began: 0.1 → 5.0"}
	if got := texts(a, b, "kernel"); !slices.Equal(got, kernel) {
		t.Errorf("factor kernel: %q", got)
	}
	got := texts(a, b)
	for _, want := range append(kernel, "kernel release: 6.1 → 6.2", "kernel (fingerprint): f6.1 → f6.2") {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if got := texts(a, side("c", "6.1", "performance", "0.2", 10)); got != nil {
		t.Errorf("equal environments: %q", got)
	}
	if got := texts(a, side("d", "6.1", "performance", "0.2", 11)); len(got) != 1 || !strings.HasPrefix(got[0], "all of a was measured before d") {
		t.Errorf("one after the other: %q", got)
	}
	// A factor of the environment splits one pool of sessions.
	sides, err := Split([]Source{{Name: "x", Runs: a.Runs, Environment: a.Environments[0]}, {Name: "y", Runs: b.Runs, Environment: b.Environments[0]}}, "governor", nil)
	if err != nil || len(sides) != 2 || sides[1].Name != "powersave" || len(sides[1].Runs) != len(b.Runs) {
		t.Errorf("%v %v", sides, err)
	}
	attached := Attach([]Source{{Name: "x", Runs: a.Runs, Environment: a.Environments[0]}}, []string{"kernel", "governor", "scheduler"})
	if p := attached[0].Runs[0].Cell.Params; p["kernel"] != "6.1 (f6.1)" || p["governor"] != "performance" || len(p) != 2 || a.Runs[0].Cell.Params != nil {
		t.Errorf("attached %v, before %v", p, a.Runs[0].Cell.Params)
	}
	if _, err := Split([]Source{{Name: "x", Runs: a.Runs, Environment: a.Environments[0]}}, "scheduler", nil); err == nil {
		t.Error("a factor that nothing has")
	}
}

// What --self promises between two sessions is found, and nothing else is.
func TestSelf(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1), cell("pingpong", "unix-stream", 10), cell("fanin", "tcp", 10)}
	in := Input{Threshold: 0.02, Discard: series.Auto}
	promises, alarms, splits := []float64{}, 0, 0
	for seed := range uint64(20) {
		r, err := Self(Side{Name: "a", Runs: campaign(10_000*seed, "a", 10, 5, cells, flat)}, in, 200, seed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Unit != UnitBoot {
			t.Fatalf("unit %s", r.Unit)
		}
		alarms, splits = alarms+r.Alarms, splits+r.Splits
		for _, c := range r.Cells {
			// Twice the units find less, down to the threshold: what is surely
			// smaller is called same.
			if !(c.Like > 0 && c.Half > 0 && (c.Like <= c.Half || c.Like <= in.Threshold)) {
				t.Errorf("half %g, like it %g", c.Half, c.Like)
			}
			promises = append(promises, c.Like)
		}
	}
	if rate := float64(alarms) / float64(splits); rate > 0.05 {
		t.Errorf("false alarms in %.1f %% of splits", 100*rate)
	}
	slices.Sort(promises)
	promise := promises[len(promises)/2]
	found, looked := 0, 0
	for seed := range uint64(40) {
		slow := func(record.Cell) float64 { return 10 + math.Log1p(-promise) }
		r, err := Compare(Input{Threshold: 0.02, Discard: series.Auto, Sides: []Side{
			{Name: "a", Runs: campaign(10_000*seed+1, "a", 10, 5, cells, flat)}, {Name: "b", Runs: campaign(10_000*seed+5_001, "b", 10, 5, cells, slow)}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cells() {
			looked++
			if c.Verdict == Slower {
				found++
			}
		}
	}
	if share := float64(found) / float64(looked); share < 0.85 {
		t.Errorf("a slow-down of %s was promised to be found in 90 %%: found in %.0f %%", percent(promise), 100*share)
	}
	if _, err := Self(Side{Name: "a", Runs: campaign(1, "a", 1, 3, cells, flat)}, in, 10, 1); err == nil {
		t.Error("three runs were split into halves")
	}
}

// Of runs that took turns the time is that of their turns, on CPU and off; their
// waits reach into the turns of others, and nothing is said of them. Each set is
// a pair: what one set has more than another, in both its levels, falls out.
func TestTimeOfTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var runs []record.Run
	for set := range 6 {
		slow := math.Exp(0.5 * rng.NormFloat64()) // the set's own: 50 %
		for n, model := range []string{"process", "thread"} {
			on := []float64{2000, 1500}[n]
			c := cell("pingpong", "unix-stream", 10)
			c.Model = model
			r := record.Run{Session: "s", Boot: "b", Seq: 2*set + n, Block: set, Kind: record.Timed, Status: record.OK, Cell: c,
				Paired: &record.Paired{Factor: "model", Level: model, Levels: 2, Rounds: 20}, Accounting: &record.Accounting{Mode: "gen"}}
			const turns, more = 20000, 200 // operations in its own turns, and ended in others'
			wall, rate := 0.0, 0.0
			for range 20 {
				ns := 10e6 * slow
				r.Slices, r.SliceNS = append(r.Slices, uint64(turns/20*(1+0.3*float64(n)))), append(r.SliceNS, int64(ns))
				wall += ns
			}
			ops := uint64(turns * (1 + 0.3*float64(n)))
			rate = float64(ops) / wall * 1e9
			window := wall / 1e9
			delay := int64(20 * wall) // longer than all of its turns: parked, and not by choice
			cpu := on / 2 * float64(ops+more) * slow
			one := record.Role{Workers: 10, Ops: ops + more, CPUNS: &record.CPU{System: int64(cpu)}, RunDelayNS: &delay}
			r.Ops, r.OpsPerS, r.WindowS = &ops, &rate, &window
			r.Roles = map[string]record.Role{record.Client: one, record.Server: one}
			runs = append(runs, r)
		}
	}
	sides, err := Split([]Source{{Runs: runs}}, "model", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compare(Input{Sides: sides, Threshold: 0.02, Factors: []string{"model"}, Together: true})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cells()[0]
	if c.Verdict != Faster || c.split == nil {
		t.Fatalf("%s, %+v", c.Verdict, c.split)
	}
	parts := map[string]Part{}
	for _, p := range c.split.Parts {
		parts[p.Name] = p
	}
	if _, ok := parts[runnable]; ok {
		t.Errorf("waiting is said: %+v", parts)
	}
	if _, ok := parts[asleep]; ok || len(c.split.Withheld) != 1 || !strings.Contains(c.split.Withheld[0], inOtherTurns) {
		t.Errorf("asleep is said, or it is not said why it is not: %+v", c.split)
	}
	for _, of := range []func(Part) float64{func(p Part) float64 { return p.Before }, func(p Part) float64 { return p.After }, func(p Part) float64 { return p.Change }} {
		if whole, sum := of(parts[wall]), of(parts[onCPU])+of(parts[offCPU]); math.Abs(whole-sum) > 1e-6*math.Abs(whole) {
			t.Errorf("on and off CPU make %g, wall is %g", sum, whole)
		}
	}
	if p := parts[onCPU]; p.Change > -400 || p.Hi > 0 || math.Abs(p.After/p.Before-0.75) > 1e-3 {
		t.Errorf("on CPU: %+v, want a quarter less", p)
	}
	// The wall time is that of a rate of operations in their own turns.
	var want float64
	for i := 0; i < len(runs); i += 2 {
		want += 20 * 1e9 / *runs[i].OpsPerS / 6
	}
	if p := parts[wall]; math.Abs(p.Before/want-1) > 1e-6 {
		t.Errorf("wall %g, by the rates %g", p.Before, want)
	}
}
