package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"udsbench/profile"
	"udsbench/suite"
)

// Every suite makes a plan here, and leaves nothing out but what another system
// has.
func TestEverySuiteMakesAPlan(t *testing.T) {
	home := tempDir(t)
	for _, name := range suite.Names() {
		r := udsbench(t, home, "run", "--suite", name, "--dry-run")
		if r.status != 0 || !strings.HasPrefix(r.out, "plan ") {
			t.Errorf("%s: status %d, %s%s", name, r.status, r.err, r.out)
		}
	}
}

// A log becomes a profile, which is shown, measured, and another cell when it
// has changed.
func TestProfileFromALog(t *testing.T) {
	home := tempDir(t)
	log, err := filepath.Abs("../../profile/testdata/strace/point-select-text.strace")
	if err != nil {
		t.Fatal(err)
	}
	r := udsbench(t, home, "profile", "record", log, "--out", "point.profile", "--work", "1000", "--client-io", "dontwait+poll")
	if r.status != 0 || r.out != "" || !strings.Contains(r.err, "recvfrom 2.") {
		t.Fatalf("record: status %d, %q, %s", r.status, r.out, r.err)
	}
	if r = udsbench(t, home, "profile", "show", "./point.profile"); r.status != 0 || !strings.Contains(r.out, "40-to-197") {
		t.Errorf("show: status %d, %s%s", r.status, r.err, r.out)
	}
	run := func() string {
		r := udsbench(t, home, "run", "--json", "--workload", "profile:./point.profile", "--parallel", "2", "--runs", "1", "--window", "100ms", "--warmup", "20ms")
		runs := records(t, r.out)
		if r.status != 0 || len(runs) != 1 || runs[0].Cell.Request != 40 || runs[0].Cell.Response != 197 {
			t.Fatalf("run: status %d, %s%s", r.status, r.err, r.out)
		}
		return runs[0].Cell.Params["profile"]
	}
	before := run()
	text, err := os.ReadFile(filepath.Join(home, "point.profile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "point.profile"), append(text, "\n# a comment\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if after := run(); after != before {
		t.Error("a comment makes another cell of a profile")
	}
	changed := strings.Replace(string(text), "io dontwait+poll", "io block", 1)
	if err := os.WriteFile(filepath.Join(home, "point.profile"), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if after := run(); after == before {
		t.Error("a profile that reads in another way is the same cell")
	}
}

// What is recorded of our own server playing a profile is that profile.
func TestProfileOfARunningServer(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	home := tempDir(t)
	done := make(chan result, 1)
	go func() {
		done <- udsbench(t, home, "run", "--json", "--workload", "profile:update-select", "--model", "thread", "--runs", "1", "--window", "4s")
	}()
	// The clients' process reads whole replies; the server's is the other.
	var seen []string
	ok := false
	for len(seen) < 20 && !ok {
		for _, pid := range workersIn(home) {
			r := udsbench(t, home, "profile", "record", "--json", "--pid", strconv.Itoa(pid), "--seconds", "0.5")
			var got struct {
				Profile profile.Profile `json:"profile"`
			}
			if r.status != 0 || json.Unmarshal([]byte(r.out), &got) != nil {
				seen = append(seen, r.err)
				continue
			}
			p := got.Profile
			ok = ok || p.Header == 4 && p.Cycle() == 2 && p.RequestBytes() == 72 && p.ResponseBytes() == 176
			seen = append(seen, p.Format())
		}
		select {
		case run := <-done:
			done <- run
			seen = append(seen, make([]string, 20)...)
		default:
		}
	}
	if run := <-done; run.status != 0 {
		t.Errorf("the run that was recorded: status %d, %s", run.status, run.err)
	}
	if !ok {
		t.Errorf("update-select is not among what was recorded:\n%s", strings.Join(seen, "\n"))
	}
}

// A server that ends before the time is up was recorded until then.
func TestProfileOfAServerThatEnds(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	home := tempDir(t)
	done := make(chan result, 1)
	go func() {
		done <- udsbench(t, home, "run", "--json", "--workload", "profile:update-select", "--model", "thread", "--runs", "1", "--window", "3s")
	}()
	var records []chan result
	for len(records) < 2 {
		pids := workersIn(home)
		if len(pids) < 2 {
			select {
			case run := <-done:
				t.Fatalf("the run ended before it was recorded: %v", run)
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		for _, pid := range pids {
			ch := make(chan result, 1)
			go func() { ch <- udsbench(t, home, "profile", "record", "--pid", strconv.Itoa(pid), "--seconds", "120") }()
			records = append(records, ch)
		}
	}
	if run := <-done; run.status != 0 {
		t.Errorf("the run that was recorded: status %d, %s", run.status, run.err)
	}
	found := false
	for _, ch := range records {
		r := <-ch
		if !strings.Contains(r.err, "ended after ") {
			t.Errorf("it is not said that the process ended: %v", r)
		}
		found = found || r.status == 0 && strings.Contains(r.out, "request 84\n  response 52\n")
	}
	if !found {
		t.Error("what the server did before it ended is not recorded")
	}
}

// workersIn finds the worker processes of runs whose private directory is in dir.
func workersIn(dir string) (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		text, _ := os.ReadFile(path)
		if args := strings.Split(string(text), "\x00"); len(args) > 2 && args[1] == "__worker" && strings.HasPrefix(args[2], dir) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestProfileUsage(t *testing.T) {
	home := tempDir(t)
	for _, x := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"profile", "record"}, 2, "give a log of strace, or --pid"},
		{[]string{"profile", "record", "log", "--pid", "1"}, 2, "and not both"},
		{[]string{"profile", "record", "nonsense"}, 2, "no such file"},
		{[]string{"profile", "record", "--pid", "999999999"}, 1, "could not attach to process 999999999"},
		{[]string{"profile", "show", "nonsense"}, 2, `profile "nonsense" is not known; there are bulk-insert, `},
		{[]string{"run", "--workload", "profile:nonsense"}, 2, `udsbench: profile "nonsense" is not known`},
		{[]string{"run", "--workload", "pingpong,profile:nonsense"}, 2, "udsbench: --workload profile:nonsense is not known; there are bulk-insert, "},
		{[]string{"run", "--workload", "pingpong,nonsense"}, 2, "udsbench: --workload nonsense is not known; there are autobind, "},
		{[]string{"run", "--workload", "profile:select-key", "--request", "100"}, 2, "leave --request and --response out"},
		{[]string{"run", "--workload", "profile:select-key", "--work-clock", "4"}, 2, "N:vdso"},
		{[]string{"run", "--workload", "churn", "--param", "colour=red"}, 2, "param colour: churn has none"},
	} {
		r := udsbench(t, home, x.args...)
		if r.status != x.status || !strings.Contains(r.err, x.want) || r.out != "" {
			t.Errorf("%v: status %d, %q, want %d and %q", x.args, r.status, r.err, x.status, x.want)
		}
	}
}
