package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Policy and nice are read back from the kernel here, not by the workers:
// fields 19 (nice) and 41 (policy) of /proc/PID/task/TID/stat (proc(5)).
func TestPolicyAndNiceTakeEffect(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for real-time policies and negative nice values")
	}
	isolated(t)
	for _, c := range []struct {
		cell                   record.Cell
		policy                 int
		client, server, rtprio string
	}{
		{record.Cell{Policy: "batch", NiceServer: 5}, unix.SCHED_BATCH, "0", "5", "0"},
		{record.Cell{Policy: "fifo:7"}, unix.SCHED_FIFO, "0", "0", "7"},
		{record.Cell{Policy: "rr:3"}, unix.SCHED_RR, "0", "0", "3"},
		{record.Cell{NiceClient: 3, NiceServer: -10}, unix.SCHED_NORMAL, "3", "-10", "0"},
	} {
		c.cell.Workload, c.cell.Parallel, c.cell.ServerModel = "fanin", 3, "thread"
		load, err := Start(context.Background(), cell(c.cell), options(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range load.Workers() {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", w.PID, w.TID))
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), ") ")
			f := strings.Fields(rest) // from field 3 on
			nice, rtprio, policy := f[19-3], f[40-3], f[41-3]
			want := c.client
			if w.Role == record.Server {
				want = c.server
			}
			if nice != want || policy != fmt.Sprint(c.policy) || rtprio != c.rtprio {
				t.Errorf("%+v: %s %d: the kernel says nice %s, policy %s, priority %s; want %s, %d, %s", c.cell, w.Role, w.Index, nice, policy, rtprio, want, c.policy, c.rtprio)
			}
		}
		if err := load.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// Real-time workers that never sleep, on every CPU, neither hang the machine
// nor the run.
func TestRealTimeOnAllCPUsEndsOnTime(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for real-time policies")
	}
	isolated(t)
	o := options(t)
	o.Window = time.Second
	n := runtime.NumCPU()
	for i := range n {
		o.CPUs = append(o.CPUs, i)
	}
	start := time.Now()
	r := measure(t, cell(record.Cell{Workload: "selfpair", Parallel: n, Policy: "fifo:50"}), o)
	if d := time.Since(start); d > 10*time.Second || *r.WindowS > 1.5 {
		t.Errorf("took %v, the window %v s", d, *r.WindowS)
	}
}

// A smaller nice value gets the server more of a CPU that both roles want:
// senders that try again and again at a full receiver always want it. Nice values
// weigh within an autogroup, so that the roles must be in one: where autogroups are
// on, as they are by default, a process in a group of its own would keep its share.
func TestNiceShiftsTheShareOfACPU(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for negative nice values")
	}
	const knob = "/proc/sys/kernel/sched_autogroup_enabled"
	switch text, err := os.ReadFile(knob); {
	case err != nil:
		t.Logf("this kernel has no autogroups (%v): nice values are held against each other without", err)
	case strings.TrimSpace(string(text)) != "1":
		if err := os.WriteFile(knob, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.WriteFile(knob, text, 0) })
	}
	isolated(t)
	share := func(nice int) float64 {
		o := options(t)
		o.Window = 500 * time.Millisecond
		o.CPUs = []int{0, 0, 0, 0, 0}
		groups := map[string]bool{}
		o.Started = func(pids []int) {
			for _, pid := range pids {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
				if err == nil {
					name, _, _ := strings.Cut(string(text), " ")
					groups[name] = true
				}
			}
		}
		c := cell(record.Cell{Workload: "fanin-dgram", Parallel: 4, NiceServer: nice, Params: map[string]string{"full": "retry"}})
		r := measure(t, c, o)
		if len(groups) > 1 {
			t.Errorf("the workers are in %d autogroups: %v", len(groups), groups)
		}
		server, client := r.Roles[record.Server].CPUNS, r.Roles[record.Client].CPUNS
		return float64(server.User+server.System) / float64(server.User+server.System+client.User+client.System)
	}
	// By their weights the server's share is 0.03 at nice 10, and as much as it
	// takes to leave its queue empty at -10; 0.2 at both if nothing came of them. In
	// turns, so that what the machine does meanwhile falls on both.
	var low, high []float64
	for range 3 {
		low, high = append(low, share(10)), append(high, share(-10))
	}
	t.Logf("the server's share of the CPU: %.3f at nice 10, %.3f at nice -10", low, high)
	if slices.Min(high) < 4*slices.Max(low) {
		t.Errorf("the server's share of the CPU is %.3f at nice 10 and %.3f at nice -10", low, high)
	}
}
