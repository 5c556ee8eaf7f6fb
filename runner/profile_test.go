package runner

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"udsbench/pingpong"
	"udsbench/profile"
	"udsbench/record"
)

// Every profile runs over every transport and model that it has, and moves the
// bytes that it says.
func TestEveryProfileRuns(t *testing.T) {
	for _, name := range profile.Names() {
		p, err := profile.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, transport := range []string{"unix-stream", "tcp"} {
			for _, model := range pingpong.Models {
				c := cell(record.Cell{Workload: pingpong.ProfilePrefix + name, Transport: transport, Model: model, Parallel: 2,
					Params: map[string]string{"work": "1000"}})
				o := options(t)
				// Whole cycles, so that the mean is that of the profile.
				o.Ops = uint64(max(p.Cycle(), 1) * 4)
				r := measure(t, c, o)
				want := (p.RequestBytes() + p.ResponseBytes()) * *r.OpsPerS
				if got := *r.BytesPerS; p.Cycle() > 0 && math.Abs(got/want-1) > 0.001 {
					t.Errorf("%s over %s by %s: %.0f bytes/s, want %.0f", name, transport, model, got, want)
				}
			}
		}
	}
}

// Both sides draw the same sizes from distributions and weights, or they would
// wait for each other for ever; the mean is that of the distribution.
func TestDrawnProfileKeepsItsMean(t *testing.T) {
	heavy := "" // weights that add up to more than 32 bits
	for i := range 10 {
		heavy += fmt.Sprintf("exchange x%d\nweight 1000000000\nrequest 10\nresponse %d\n", i, 10+100*i)
	}
	for _, text := range []string{
		"io dontwait+poll\nclient-io dontwait+poll\nheader 4\n" +
			"exchange a\nweight 3\nrequest 20/30/90 5\nresponse 100/4000\nwork 0/500\n" +
			"exchange b\nweight 1\nrequest 10\nresponse 4 1/1/7\n",
		heavy,
	} {
		path := filepath.Join(t.TempDir(), "drawn.profile")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		o := options(t)
		o.Ops, o.Seed = 20000, 7
		r := measure(t, cell(record.Cell{Workload: pingpong.ProfilePrefix + path, Parallel: 2}), o)
		per := *r.BytesPerS / *r.OpsPerS
		if want := p.RequestBytes() + p.ResponseBytes(); math.Abs(per/want-1) > 0.02 {
			t.Errorf("%.1f bytes an exchange, want %.1f", per, want)
		}
	}
}

// The server's own lock is contended, its clock costs what the record says, and
// its work takes its time.
func TestServerWorkIsDone(t *testing.T) {
	for _, lock := range []string{"futex:20000", "spin:20000"} {
		r := measure(t, cell(record.Cell{Workload: "profile:select-key", Parallel: 4, Params: map[string]string{"lock": lock}}), options(t))
		if *r.LockWaits == 0 {
			t.Errorf("%s: nobody waited for it", lock)
		}
		var served uint64
		for _, w := range r.Workers {
			if w.Role == record.Server {
				served += w.OpsTotal
			}
		}
		if *r.LockTakings != served || *r.LockWaits > *r.LockTakings {
			t.Errorf("%s: %d of %d takings waited, of %d exchanges served", lock, *r.LockWaits, *r.LockTakings, served)
		}
		if r.Spin == nil || r.Spin.PerUS <= 0 || r.Spin.Tries == 0 {
			t.Errorf("%s: work rests on %+v", lock, r.Spin)
		}
	}
	r := measure(t, cell(record.Cell{Workload: "profile:select-key", Params: map[string]string{"work": "1000000", "work-clock": "100:syscall"}}), options(t))
	if p50 := r.LatencyNS.Min; p50 < 900_000 {
		t.Errorf("an exchange with 1 ms of work took %d ns", p50)
	}
	if *r.WorkClockNS <= 0 {
		t.Errorf("a system call costs %v ns", *r.WorkClockNS)
	}
}

// Under --rate the rate is what was asked for, and a server that is too slow
// shows in latency from the intended time, which a closed loop hides.
func TestOpenLoop(t *testing.T) {
	o := options(t)
	o.Window, o.Warmup = 500*time.Millisecond, 50*time.Millisecond
	for _, model := range []string{"process", "goroutine"} {
		var rates []float64
		for range 5 { // a busy machine may not bear even this at its worst
			r := measure(t, cell(record.Cell{Workload: "pingpong", Model: model, Parallel: 2, Params: map[string]string{"rate": "200"}}), o)
			if r.Loop != "open" || *r.OfferedPerS != 200 || !strings.Contains(r.LatencyOf, "from when it was due") {
				t.Errorf("%s: the record says that the loop is %s, %v op/s are offered, and latency is of %s", model, r.Loop, *r.OfferedPerS, r.LatencyOf)
			}
			rates = append(rates, *r.OpsPerS)
			if *r.OpsPerS > 180 && *r.OpsPerS < 220 {
				break
			}
		}
		if last := rates[len(rates)-1]; last < 180 || last > 220 {
			t.Errorf("%s: %.0f op/s, want 200", model, rates)
		}
	}
	slow := map[string]string{"work": "2000000"}
	closed := measure(t, cell(record.Cell{Workload: "profile:join", Params: slow}), o)
	slow["rate"] = "2000"
	open := measure(t, cell(record.Cell{Workload: "profile:join", Params: slow}), o)
	if *open.OfferedPerS != 2000 || *open.OpsPerS > 1000 { // 2 ms of work an exchange
		t.Errorf("%v op/s are offered and %v done", *open.OfferedPerS, *open.OpsPerS)
	}
	if closed.OfferedPerS != nil || closed.LatencyOf != "a round trip" {
		t.Errorf("a closed loop offers %v op/s, and latency is of %s", *closed.OfferedPerS, closed.LatencyOf)
	}
	if open.LatencyNS.Max < 10*closed.LatencyNS.P50 {
		t.Errorf("at four times the rate that it can bear, latency is at most %d ns, where a closed loop has %d", open.LatencyNS.Max, closed.LatencyNS.P50)
	}
}
