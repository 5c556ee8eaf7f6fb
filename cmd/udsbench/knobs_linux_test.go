package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"udsbench/record"
	"udsbench/sched"
)

const timeslice = "/proc/sys/kernel/sched_rr_timeslice_ms"

func knob(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(timeslice)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// A knob of the kernel is a factor like any other: its values are interleaved,
// stand in the cells, and are gone with the session.
func TestKnobsAreInterleavedAndRestored(t *testing.T) {
	if _, err := sched.FindKnob("sched/rr_timeslice_ms"); err != nil {
		t.Skip(err)
	}
	before := knob(t)
	r := udsbench(t, tempDir(t), "run", "--workload", "pingpong", "--param", "sched/rr_timeslice_ms=40,60", "--runs", "2",
		"--window", "30ms", "--slice", "10ms", "--warmup", "0", "--json", "--out", "session")
	if r.status != 0 {
		t.Fatal(r)
	}
	seen := map[string]int{}
	for _, x := range records(t, r.out) {
		if x.Status != record.OK {
			t.Errorf("%v", x.Error)
		}
		seen[x.Cell.Params["sched/rr_timeslice_ms"]]++
	}
	if len(seen) != 2 || seen["40"] != 2 || seen["60"] != 2 {
		t.Errorf("%v", seen)
	}
	if now := knob(t); now != before {
		t.Errorf("%s is %s, and was %s", timeslice, now, before)
	}
}

// Whoever is killed while a knob stands at another value: it is put back, by
// the janitor at once, or by the next start where that was killed too.
func TestKnobsAreRestoredAfterACrash(t *testing.T) {
	if _, err := sched.FindKnob("sched/rr_timeslice_ms"); err != nil {
		t.Skip(err)
	}
	before := knob(t)
	for _, both := range []bool{false, true} {
		dir := tempDir(t)
		cmd := exec.Command(binary, "run", "--workload", "pingpong", "--param", "sched/rr_timeslice_ms=40", "--runs", "1", "--window", "20s", "--out", filepath.Join(dir, "session"))
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var janitors []int
		running := waitFor(func() bool {
			var workers []int
			workers, janitors = family(dir)
			return len(workers) == 2 && len(janitors) == 1 && knob(t) == "40"
		})
		if both && len(janitors) > 0 {
			syscall.Kill(janitors[0], syscall.SIGKILL)
		}
		cmd.Process.Kill()
		cmd.Wait()
		if !running {
			t.Fatalf("the knob was never switched: %s", knob(t))
		}
		if both {
			if now := knob(t); now != "40" {
				t.Errorf("nobody was left to restore it, and it is %s", now)
			}
			if r := udsbench(t, dir, "run", "--workload", "pingpong", "--runs", "1", "--window", "10ms", "--slice", "10ms", "--warmup", "0", "--out", filepath.Join(dir, "next")); r.status != 0 {
				t.Error(r)
			}
		}
		if !waitFor(func() bool { return knob(t) == before }) {
			t.Errorf("janitor killed %v: %s is %s, and was %s", both, timeslice, knob(t), before)
			os.WriteFile(timeslice, []byte(before), 0)
		}
	}
}

func waitFor(f func() bool) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if f() {
			return true
		}
	}
	return false
}
