package runner

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/pingpong"
	"udsbench/record"
)

// Workloads that use up descriptors, descriptors in flight, backlogs and socket
// buffers, where there are few of these: a run ends, with a name for what it
// met, and leaves nothing.
func TestUnderLimits(t *testing.T) {
	isolated(t)
	for _, x := range []struct {
		name   string
		cell   record.Cell
		params map[string]string
		fails  string // in what the record says; "" it runs
	}{
		{"tiny buffers", record.Cell{Workload: "bulk", Parallel: 2}, map[string]string{"buffer": "1"}, ""},
		{"tiny buffers over tcp", record.Cell{Workload: "bulk", Transport: "tcp", Request: 1000}, map[string]string{"buffer": "1"}, ""},
		{"a datagram over the buffer", record.Cell{Workload: "bulk", Transport: "unix-dgram"}, map[string]string{"buffer": "4096"}, "EMSGSIZE"},
		{"tiny receiver, waiting", record.Cell{Workload: "fanin-dgram", Parallel: 10}, map[string]string{"buffer": "1", "reader": "slow"}, ""},
		{"tiny receiver, trying", record.Cell{Workload: "fanin-dgram", Parallel: 10}, map[string]string{"buffer": "1", "reader": "slow", "full": "yield"}, ""},
		{"tiny receiver, polling", record.Cell{Workload: "fanin-dgram", Parallel: 10}, map[string]string{"buffer": "1", "full": "poll"}, ""},
		{"tiny receiver, by name", record.Cell{Workload: "sendto", Parallel: 10}, map[string]string{"buffer": "1", "full": "retry"}, ""},
		{"backlog of one", record.Cell{Workload: "storm", Parallel: 10}, map[string]string{"backlog": "1"}, ""},
		{"many in flight", record.Cell{Workload: "rights", Parallel: 2}, map[string]string{"inflight": "5000"}, ""},
		{"in flight, nothing passed", record.Cell{Workload: "rights", Parallel: 2}, map[string]string{"inflight": "5000", "pass": "nothing"}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.cell.Params = x.params
			c := cell(x.cell)
			if err := (pingpong.Catalogue{}).Check(c); err != nil {
				t.Fatal(err)
			}
			r := patiently(t, c, options(t))
			switch {
			case x.fails == "" && r.Status != record.OK:
				t.Error(r.Error)
			case x.fails != "" && (r.Status != record.Failed || r.Error.Errno != x.fails):
				t.Errorf("%s, %v; want %s", r.Status, r.Error, x.fails)
			case x.fails == "" && r.Lost != nil && *r.Lost != 0:
				t.Errorf("%d messages were lost", *r.Lost)
			}
			if tries := x.params["full"]; tries != "" && r.Errors["EAGAIN"]+r.Errors["ENOBUFS"] == 0 {
				t.Errorf("no sender was refused, with a receiver that holds next to nothing")
			}
		})
	}
}

// limited is set in a child of this test, whose descriptors are few.
const limited = "UDSBENCH_TEST_FILES"

// With few open files a run that fits runs, and one that does not is refused
// before it starts or fails by the limit's name; descriptors in flight are
// counted against the same limit for those who may not exceed it.
func TestFewOpenFiles(t *testing.T) {
	if n, _ := strconv.Atoi(os.Getenv(limited)); n > 0 {
		fewOpenFiles(t, n)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestFewOpenFiles$", "-test.v")
	c.Env = append(os.Environ(), limited+"=80")
	unprivileged(t, func() {
		if text, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func fewOpenFiles(t *testing.T, n int) {
	isolated(t)
	lim := fileLimit(n)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rights", "storm", "fanin-dgram", "bulk", "churn", "epfan"} {
		c := cell(record.Cell{Workload: name, Parallel: 4})
		if err := CheckLimits(c); err != nil {
			t.Errorf("%s by 4 needs fewer files than %d: %v", name, n, err)
			continue
		}
		measure(t, c, options(t))
		c = cell(record.Cell{Workload: name, Parallel: 300})
		if err := CheckLimits(c); err == nil || !strings.Contains(err.Error(), "the limit is 80; raise it") {
			t.Errorf("%s by 300: %v", name, err)
		}
	}
	if runtime.GOOS != "linux" {
		return // elsewhere descriptors in flight are bound by the system's open files alone
	}
	c := cell(record.Cell{Workload: "rights", Params: map[string]string{"inflight": "2000"}})
	start := time.Now()
	r, err := Run(context.Background(), c, options(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != record.Failed || r.Error.Errno != "ETOOMANYREFS" {
		t.Errorf("2000 descriptors in flight with a limit of %d: %s, %v", n, r.Status, r.Error)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v to fail", took)
	}
}
