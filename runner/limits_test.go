package runner

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
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
		{"tiny buffers", record.Cell{Workload: "bulk", Parallel: 2}, map[string]string{"buffer": tinyBuffer}, ""},
		{"tiny buffers over tcp", record.Cell{Workload: "bulk", Transport: "tcp", Request: 1000}, map[string]string{"buffer": tinyBuffer}, ""},
		{"a datagram over the buffer", record.Cell{Workload: "bulk", Transport: "unix-dgram"}, map[string]string{"buffer": "4096"}, "EMSGSIZE"},
		{"tiny receiver, waiting", record.Cell{Workload: "fanin-dgram", Parallel: 10}, map[string]string{"buffer": tinyBuffer, "reader": "slow"}, ""},
		{"tiny receiver, trying", record.Cell{Workload: "fanin-dgram", Parallel: 10}, map[string]string{"buffer": tinyBuffer, "reader": "slow", "full": "yield"}, ""},
		{"tiny receiver, polling", record.Cell{Workload: "fanin-dgram", Parallel: 10}, map[string]string{"buffer": tinyBuffer, "full": "poll"}, ""},
		{"tiny receiver, by name", record.Cell{Workload: "sendto", Parallel: 10}, map[string]string{"buffer": tinyBuffer, "full": "retry"}, ""},
		{"backlog of one", record.Cell{Workload: "storm", Parallel: 10}, map[string]string{"backlog": "1"}, ""},
		{"many in flight", record.Cell{Workload: "rights", Parallel: 2}, map[string]string{"inflight": "5000"}, ""},
		{"in flight, nothing passed", record.Cell{Workload: "rights", Parallel: 2}, map[string]string{"inflight": "5000", "pass": "nothing"}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.cell.Params = x.params
			c := cell(x.cell)
			if err := (pingpong.Catalogue{}).Check(c); err != nil {
				if x.fails != "" && runtime.GOOS != "linux" {
					return // refused before it is run
				}
				t.Fatal(err)
			}
			r := patiently(t, c, options(t))
			switch {
			case x.fails == "" && r.Status != record.OK:
				t.Error(r.Error)
			case x.fails != "" && (r.Status != record.Failed || r.Error.Errno != x.fails):
				t.Errorf("%s, %v; want %s", r.Status, r.Error, x.fails)
			case x.fails == "" && r.LostMessages != nil && *r.LostMessages != 0:
				t.Errorf("%d messages were lost", *r.LostMessages)
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

// What the kernel makes of buffers and backlogs is in the record, and said where
// it is not what was asked for.
func TestWhatTookEffect(t *testing.T) {
	isolated(t)
	for _, x := range []struct {
		cell   record.Cell
		params map[string]string
		names  []string
		warns  string // "" not
	}{
		{record.Cell{Workload: "bulk"}, map[string]string{"buffer": "65536"}, []string{"receive_buffer", "send_buffer"}, ""},
		{record.Cell{Workload: "bulk"}, nil, nil, ""},
		{record.Cell{Workload: "storm"}, map[string]string{"backlog": "65535"}, []string{"backlog"}, "backlog 65535: it took effect as "},
		{record.Cell{Workload: "storm"}, map[string]string{"backlog": "7"}, []string{"backlog"}, ""},
		{record.Cell{Workload: "fanin-dgram", Parallel: 2}, map[string]string{"buffer": tinyBuffer}, []string{"receive_buffer", "send_buffer"}, "(the kernel's least)"},
		{record.Cell{Workload: "bulk"}, map[string]string{"buffer": "1073741824"}, []string{"receive_buffer", "send_buffer"}, "buffer 1073741824: it took effect as "},
	} {
		if runtime.GOOS == "freebsd" && strings.Contains(x.warns, "buffer 1") {
			c := x.cell
			c.Params = x.params
			if r := patiently(t, cell(c), options(t)); r.Status != record.Failed || !strings.Contains(r.Error.What, "kern.ipc.maxsockbuf") {
				t.Errorf("%v: %s, %v", x.params, r.Status, r.Error)
			}
			continue
		}
		if runtime.GOOS == "freebsd" && strings.Contains(x.warns, "least") {
			continue // a buffer of one byte is one there
		}
		c := x.cell
		c.Params = x.params
		r := measure(t, cell(c), options(t))
		if got := slices.Sorted(maps.Keys(r.Effective)); !slices.Equal(got, x.names) {
			t.Errorf("%s %v: read back %v, want %v", c.Workload, x.params, r.Effective, x.names)
		}
		said := ""
		for _, w := range r.Warnings {
			if strings.Contains(w, "took effect") {
				said = w
			}
		}
		if (said != "") != (x.warns != "") || !strings.Contains(said, x.warns) {
			t.Errorf("%s %v: warned of %q, want %q", c.Workload, x.params, said, x.warns)
		}
	}
}

// Under --rate a window must have room for a few operations, one a client at
// least.
func TestRateNeedsAWindow(t *testing.T) {
	for _, x := range []struct {
		rate     string
		parallel int
		window   time.Duration
		want     string
	}{
		{"", 1, time.Millisecond, ""},
		{"10", 1, 500 * time.Millisecond, ""},
		{"10", 1, 499 * time.Millisecond, "has room for 5.0 operations"},
		{"1", 1, 300 * time.Millisecond, "a window of 300ms has room for 0.3 operations, and with --parallel 1 it takes at least 5: take --window 5s, or a higher rate"},
		{"50", 100, time.Second, "take --window 2s"},
		{"50", 100, 2 * time.Second, ""},
	} {
		c := cell(record.Cell{Workload: "pingpong", Parallel: x.parallel, Params: map[string]string{"rate": x.rate}})
		err := CheckRate(c, x.window)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("rate %s, %d clients, %v: %v, want %q", x.rate, x.parallel, x.window, err, x.want)
		}
	}
}

// A process has a limit of threads on FreeBSD, where one more would end it.
func TestThreadsOfAProcess(t *testing.T) {
	for _, x := range []struct {
		cell  record.Cell
		limit int64
		want  string
	}{
		{record.Cell{Workload: "pingpong", Model: "thread", Parallel: 1493}, 1500, ""},
		{record.Cell{Workload: "pingpong", Model: "thread", Parallel: 1494}, 1500, "needs about 1501 threads in one process, and kern.x is 1500; raise it (sysctl kern.x=1501) or lower --parallel"},
		{record.Cell{Workload: "pingpong", Model: "thread", ServerModel: "thread", OneProcess: true, Parallel: 800}, 1500, "needs about 1607 threads"},
		{record.Cell{Workload: "pingpong", Model: "process", Parallel: 5000}, 1500, ""},
		{record.Cell{Workload: "pingpong", Model: "goroutine", Parallel: 5000}, 1500, ""},
		{record.Cell{Workload: "fanin", Model: "process", Parallel: 5000}, 1500, "model process and thread, needs about 5007 threads"},
	} {
		err := checkThreads(cell(x.cell), x.limit, "kern.x")
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.cell, err, x.want)
		}
	}
}

// A TCP listener on FreeBSD resets who finds its queue full.
func TestQueueOfATCPListener(t *testing.T) {
	for _, x := range []struct {
		cell   record.Cell
		params map[string]string
		limit  int64
		want   string
	}{
		{record.Cell{Workload: "fanin", Transport: "tcp", Parallel: 193}, nil, 128, ""},
		{record.Cell{Workload: "fanin", Transport: "tcp", Parallel: 194}, nil, 128, "the listener's queue holds 193 clients where kern.x is 128, and resets the others; raise it (sysctl kern.x=194) or lower --parallel"},
		{record.Cell{Workload: "fanin", Transport: "tcp", Parallel: 1000}, nil, 4096, ""},
		{record.Cell{Workload: "fanin", Transport: "unix-stream", Parallel: 1000}, nil, 128, ""},
		{record.Cell{Workload: "pingpong", Transport: "tcp", Parallel: 1000}, nil, 128, ""},
		{record.Cell{Workload: "storm", Transport: "tcp", Parallel: 3}, map[string]string{"backlog": "1"}, 128, "--param backlog=1: the listener's queue holds 2 clients, and resets the others; give a larger backlog"},
		{record.Cell{Workload: "storm", Transport: "tcp", Parallel: 2}, map[string]string{"backlog": "1"}, 128, ""},
		{record.Cell{Workload: "storm", Transport: "tcp", Parallel: 300}, map[string]string{"backlog": "1000"}, 128, "sysctl kern.x=300"},
	} {
		x.cell.Params = x.params
		err := checkQueue(cell(x.cell), x.limit, "kern.x")
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.cell, err, x.want)
		}
	}
}
