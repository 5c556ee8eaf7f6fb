package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"udsbench/journal"
	"udsbench/pingpong"
	"udsbench/plan"
	"udsbench/record"
	"udsbench/runner"
)

func TestUsage(t *testing.T) {
	f, err := os.Open("testdata/usage.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		args, want, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("no => in %q", line)
		}
		cases++
		dir := tempDir(t)
		r := udsbench(t, dir, strings.Fields(args)...)
		if r.status != 2 || r.out != "" || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, want) {
			t.Errorf("udsbench %s: want status 2 and one line with %q\n%v", args, want, r)
		}
		if made, _ := os.ReadDir(dir); len(made) > 0 {
			t.Errorf("udsbench %s: made %v", args, made)
		}
	}
	if cases < 20 {
		t.Errorf("only %d cases", cases)
	}
}

func TestMatrixOfRecords(t *testing.T) {
	dir := tempDir(t)
	r := udsbench(t, dir, "run", "--workload", "pingpong,fanin", "--transport", "unix-stream,unix-seqpacket,tcp",
		"--parallel", "1,10,100", "--runs", "3", "--window", "300ms", "--json", "--out", "session")
	if r.status != 0 {
		t.Fatal(r)
	}
	runs := records(t, r.out)
	if len(runs) != 54 {
		t.Errorf("%d records, want 54", len(runs))
	}
	want := []string{"schema", "session", "boot", "seq", "block", "kind", "status", "cell", "start", "window_s", "ops", "ops_per_s", "slices", "scan_ns",
		"start_skew_ns", "connect_ns", "latency_ns", "histogram", "cpu_ns", "switches", "migrations", "run_delay_ns", "clock_cost_ns", "host", "workers"}
	wantWorker := []string{"role", "index", "pair", "pid", "tid", "cpus", "cpu_seen", "ops", "starved_slices", "switches", "cpu_ns", "run_delay_ns", "connect_ns"}
	for line := range strings.Lines(r.out) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		missing := func(what string, m map[string]any, names []string) {
			reasons, _ := m["unavailable"].(map[string]any)
			for _, n := range names {
				if _, ok := m[n]; !ok && reasons[n] == nil {
					t.Errorf("%s: no %s, and no reason", what, n)
				}
			}
		}
		missing("record", m, want)
		for _, w := range m["workers"].([]any) {
			missing("worker", w.(map[string]any), wantWorker)
		}
		host := m["host"].(map[string]any)
		for _, n := range []string{"steal_ns", "foreign_cpu_ns", "throttled", "minor_faults"} {
			if reasons, _ := m["unavailable"].(map[string]any); host[n] == nil && reasons["host."+n] == nil {
				t.Errorf("host: no %s, and no reason", n)
			}
		}
	}
	for _, x := range runs {
		if x.Status != record.OK {
			t.Errorf("seq %d: %v", x.Seq, x.Error)
		}
	}
	s, err := journal.Read(filepath.Join(dir, "session"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Runs) != 54 || s.Plan.Len() != 54 {
		t.Errorf("the session has %d runs of %d", len(s.Runs), s.Plan.Len())
	}
	// Never cell by cell: each block holds each cell once.
	for b, block := range s.Plan.Order {
		seen := map[int]bool{}
		for _, c := range block {
			seen[c] = true
		}
		if len(seen) != 18 || len(block) != 18 {
			t.Errorf("block %d has %d runs of %d cells", b, len(block), len(seen))
		}
	}
}

func TestOpenFilesAreRefusedBeforeAnythingStarts(t *testing.T) {
	for _, args := range []string{
		"run --parallel 100",
		"run --workload pingpong --parallel 100",
		"run --workload fanin --parallel 100",
		"run --workload pingpong --address socketpair --model thread --parallel 100",
	} {
		dir := tempDir(t)
		r := finish(t, exec.Command("sh", "-c", "ulimit -n 64; exec \"$0\" "+args, binary), dir)
		if r.status != 2 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "the limit is 64") || !strings.Contains(r.err, "ulimit -n ") {
			t.Errorf("%s with 64 open files: %v", args, r)
		}
		if made, _ := os.ReadDir(dir); len(made) > 0 {
			t.Errorf("%s: made %v", args, made)
		}
	}
}

// The number that the refusal names is enough, and not wildly more than enough.
func TestOpenFilesNamedAreEnough(t *testing.T) {
	for _, name := range pingpong.Names() {
		for _, model := range pingpong.Models {
			for _, transport := range pingpong.Transports {
				c := pingpong.Catalogue{}.Fill(record.Cell{Workload: name, Transport: transport, Model: model, Parallel: 40, Request: plan.Unset, Response: plan.Unset})
				if (pingpong.Catalogue{}).Check(c) != nil {
					continue
				}
				need, _ := runner.NeedFDs(c)
				dir := tempDir(t)
				r := finish(t, exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec \"$0\" run --runs 1 --window 20ms --slice 20ms --warmup 0 --workload %s --transport %s --model %s --parallel 40",
					need, name, transport, model), binary), dir)
				if r.status != 0 {
					t.Errorf("%s over %s, %s, %d open files: %v", name, transport, model, need, r)
				}
			}
		}
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	dir := tempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"file", "file/inside", "/proc/nothing"} {
		r := udsbench(t, dir, "run", "--workload", "pingpong", "--runs", "1", "--window", "10ms", "--slice", "10ms", "--out", out)
		if r.status != 2 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, out) {
			t.Errorf("--out %s: %v", out, r)
		}
	}
}

func TestDryRunMeasuresNothing(t *testing.T) {
	dir := tempDir(t)
	r := udsbench(t, dir, "run", "--dry-run")
	if r.status != 0 || !strings.Contains(r.out, "takes about") || !strings.Contains(r.out, "12 cells × 3 runs = 36 runs") {
		t.Errorf("%v", r)
	}
	if made, _ := os.ReadDir(dir); len(made) > 0 {
		t.Errorf("made %v", made)
	}
}

// Impossible combinations of a product are left out and listed; a run without
// privilege differs in what needs it, and says so.
func TestTable(t *testing.T) {
	dir := tempDir(t)
	r := udsbench(t, dir, "run", "--workload", "pingpong", "--transport", "unix-stream,pipe", "--parallel", "1,3", "--runs", "2", "--window", "50ms", "--slice", "10ms")
	if r.status != 0 {
		t.Fatal(r)
	}
	for _, want := range []string{"pingpong", "unix-stream", "pipe", "op/s", "p99", "session: "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in the table:\n%s", want, r.out)
		}
	}
}
