package runner

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"udsbench/affinity"
	"udsbench/pingpong"
	"udsbench/record"
)

// edgesOf plays a coordinator that comes late by so much at each reading.
func edgesOf(window, slice int64, late func(at int64) int64) (lengths []int64) {
	const start = 1000
	now := int64(start)
	for at := int64(start); at < start+window; {
		at = nextEdge(at, now, start, slice, window)
		read := max(at, now) + late(at)
		lengths = append(lengths, read-now)
		now = read
	}
	return lengths
}

func TestALateCoordinatorReadsNoSlivers(t *testing.T) {
	on := edgesOf(1000, 100, func(int64) int64 { return 0 })
	if !slices.Equal(on, slices.Repeat([]int64{100}, 10)) {
		t.Errorf("on time: %v", on)
	}
	for name, late := range map[string]func(int64) int64{
		"once by 3.5 slices":  func(at int64) int64 { return map[int64]int64{1300: 350}[at] },
		"always by a half":    func(int64) int64 { return 50 },
		"always by 1.9":       func(int64) int64 { return 190 },
		"beyond the end":      func(at int64) int64 { return map[int64]int64{1500: 5000}[at] },
		"just before the end": func(at int64) int64 { return map[int64]int64{1800: 140}[at] },
	} {
		var sum int64
		lengths := edgesOf(1000, 100, late)
		for i, n := range lengths {
			sum += n
			if n < 50 && i < len(lengths)-1 {
				t.Errorf("%s: a slice of %d: %v", name, n, lengths)
			}
		}
		if sum < 1000 {
			t.Errorf("%s: the window ended after %d", name, sum)
		}
	}
}

// An hour of milliseconds does not overflow, and ends.
func TestLongWindows(t *testing.T) {
	lengths := edgesOf(int64(time.Hour), int64(50*time.Millisecond), func(int64) int64 { return 0 })
	if len(lengths) != 72000 {
		t.Errorf("%d slices", len(lengths))
	}
	if CheckSlices(time.Hour, time.Millisecond) == nil || CheckSlices(time.Hour, 100*time.Millisecond) != nil {
		t.Error("an hour may have slices of 100 ms and not of 1 ms")
	}
}

// A worker that somebody moves in the middle of a run has no figures.
func TestAPinThatIsLostFailsTheRun(t *testing.T) {
	isolated(t)
	allowed, err := affinity.Mask()
	if err != nil || len(allowed) < 2 {
		t.Fatalf("needs two CPUs: %v", err)
	}
	o := options(t)
	o.CPUs = []int{allowed[0], allowed[1]}
	var pids []int
	o.Started = func(p []int) { pids = p }
	o.Turned = func(p uint32) {
		if p == pingpong.PhaseWindow {
			move(t, pids[0], allowed[1])
		}
	}
	rec, err := Run(context.Background(), cell(record.Cell{Workload: "pingpong"}), o)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Status != record.Failed || rec.Error.Role != record.Client || !strings.Contains(rec.Error.What, "pinned to CPU") {
		t.Errorf("status %s, %v", rec.Status, rec.Error)
	}
}

// A janitor that is stopped does not hold up a run that went well.
func TestStoppedJanitorIsKilled(t *testing.T) {
	isolated(t)
	o := options(t)
	var r *run
	o.Turned = func(p uint32) {
		if p == pingpong.PhaseWindow {
			syscall.Kill(r.home.Group, syscall.SIGSTOP)
		}
	}
	var err error
	if r, err = prepare(cell(record.Cell{Workload: "pingpong"}), o); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	rec, err := r.outcome(r.execute(context.Background()))
	if err != nil || rec.Status != record.OK {
		t.Errorf("%v, %+v", err, rec)
	}
	if d := time.Since(start); d > 15*time.Second {
		t.Errorf("took %v", d)
	}
}

// A run by --ops whose server hangs is found too, and the server is named.
func TestHungServerOfACountedRun(t *testing.T) {
	isolated(t)
	o := options(t)
	o.Ops, o.Patience = 1<<40, 2*time.Second
	var pids []int
	o.Started = func(p []int) { pids = p }
	o.Turned = func(p uint32) {
		if p == pingpong.PhaseWarmup {
			time.AfterFunc(200*time.Millisecond, func() { syscall.Kill(pids[1], syscall.SIGSTOP) })
		}
	}
	rec, err := Run(context.Background(), cell(record.Cell{Workload: "pingpong"}), o)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Status != record.Failed || rec.Error.Role != record.Server || !strings.Contains(rec.Error.What, "stopped by a signal") {
		t.Errorf("status %s, %v", rec.Status, rec.Error)
	}
}

// What tunes the Go runtime of whoever started us does not tune the workers'.
func TestEnvironmentDoesNotReachTheWorkers(t *testing.T) {
	isolated(t)
	t.Setenv("GOMAXPROCS", "1")
	r := measure(t, cell(record.Cell{Workload: "pingpong", Model: "goroutine", Parallel: 2}), options(t))
	allowed, _ := affinity.Mask()
	if got := r.Roles[record.Client].GOMAXPROCS; got != len(allowed) {
		t.Errorf("GOMAXPROCS of the clients is %d on %d CPUs", got, len(allowed))
	}
}

// An interruption is seen within a slice, however long that is.
func TestInterruptedInALongSlice(t *testing.T) {
	isolated(t)
	ctx, cancel := context.WithCancel(context.Background())
	o := options(t)
	o.Window, o.Slice = time.Minute, time.Minute
	o.Turned = func(p uint32) {
		if p == pingpong.PhaseWindow {
			time.AfterFunc(200*time.Millisecond, cancel)
		}
	}
	start := time.Now()
	if _, err := Run(ctx, cell(record.Cell{Workload: "pingpong"}), o); err != ErrInterrupted {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v to stop", d)
	}
}
