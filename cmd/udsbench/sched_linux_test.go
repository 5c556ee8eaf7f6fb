package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"udsbench/offcpu"
	"udsbench/record"
)

// seenTwice gives the workers of an instrumented run that are known both by
// their switches and by their own snapshots.
func seenTwice(r record.Run) (pairs [][2]any) {
	threads := map[int]record.ThreadTime{}
	for _, t := range r.Sched.Threads {
		if t.Unavailable == "" {
			threads[t.TID] = t
		}
	}
	for _, w := range r.Workers {
		if t, ok := threads[w.TID]; ok && w.BlockedNS != nil {
			pairs = append(pairs, [2]any{t, w})
		}
	}
	return pairs
}

func needsTrace(t *testing.T) {
	t.Helper()
	if err := offcpu.Probe(offcpu.Options{PIDs: []int{os.Getpid()}}); err != nil {
		t.Skip(err)
	}
}

// spin keeps every CPU busy until the test ends.
func spin(t *testing.T) {
	for range runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
}

// Time blocked and time runnable, measured at the switches, are what schedstat
// and the remainder make them, within 5 % of the window, on an idle machine and
// on a busy one; and in every thread on CPU, runnable and blocked are the window.
func TestSwitchesAgreeWithWhatIsLeft(t *testing.T) {
	needsTrace(t)
	for _, state := range []string{"idle", "busy"} {
		t.Run(state, func(t *testing.T) {
			if state == "busy" {
				spin(t)
			}
			r := udsbench(t, tempDir(t), "run", "--workload", "pingpong,fanin,epfan", "--parallel", "1,10,100", "--runs", "1", "--warmup", "100ms", "--window", "1s",
				"--instrument", "sched", "--json", "--out", "session")
			if r.status != 0 {
				t.Fatal(r)
			}
			runs := 0
			for _, x := range records(t, r.out) {
				for _, w := range x.Workers {
					if w.BlockedNS != nil && (*w.BlockedNS < 0 || *w.OnCPUNS+*w.RunDelayNS+*w.BlockedNS != w.WindowNS) {
						t.Errorf("%s %d: %d on CPU, %d runnable and %d blocked are not %d ns", w.Role, w.Index, *w.OnCPUNS, *w.RunDelayNS, *w.BlockedNS, w.WindowNS)
					}
				}
				if x.Kind != record.Instrumented {
					continue
				}
				runs++
				name := fmt.Sprintf("%s N=%d", x.Cell.Workload, x.Cell.Parallel)
				if x.Sched == nil {
					t.Errorf("%s: %s", name, x.Unavailable["sched"])
					continue
				}
				pairs := seenTwice(x)
				var runnable, blocked, life, ownRunnable, ownBlocked, window float64
				for _, p := range pairs {
					th, w := p[0].(record.ThreadTime), p[1].(record.Worker)
					runnable, blocked, life = runnable+float64(th.RunnableNS), blocked+float64(th.BlockedNS), life+float64(th.LifeNS)
					ownRunnable, ownBlocked, window = ownRunnable+float64(*w.RunDelayNS), ownBlocked+float64(*w.BlockedNS), window+float64(w.WindowNS)
				}
				if len(pairs) == 0 || len(pairs) < len(x.Workers)/2 {
					t.Errorf("%s: %d of %d workers are known from both", name, len(pairs), len(x.Workers))
					continue
				}
				d, e := runnable/life-ownRunnable/window, blocked/life-ownBlocked/window
				t.Logf("%s: runnable %.1f %% and %.1f %%, blocked %.1f %% and %.1f %% of the window", name,
					100*runnable/life, 100*ownRunnable/window, 100*blocked/life, 100*ownBlocked/window)
				// Two ends that wake each other across CPUs: the switches count the way
				// from the waking until the thread is on its CPU as waiting, schedstat
				// only what it stood in the queue there. That is said of such a run.
				said := slices.ContainsFunc(x.Warnings, func(s string) bool {
					return strings.Contains(s, "own accounts and their switches disagree")
				})
				if max(math.Abs(d), math.Abs(e)) > 0.05 && !(x.Cell.Parallel == 1 && said) {
					t.Errorf("%s: switches and snapshots are apart by %.1f %% of the window on waiting, %.1f %% on sleep", name, 100*d, 100*e)
				}
			}
			if runs != 9 {
				t.Errorf("%d instrumented runs of 9", runs)
			}
		})
	}
}

// What the switches tell of a run is what the kernel's own accounts tell of
// the same run: time on CPU within 3 %, waiting within 20 %, switches within 3 a
// thread. The instrument's cost is in the record.
func TestSwitchesAgreeWithTheKernelsAccounts(t *testing.T) {
	needsTrace(t)
	r := udsbench(t, tempDir(t), "run", "--workload", "pingpong,fanin", "--parallel", "4", "--ops", "20000", "--runs", "1", "--instrument", "sched", "--json", "--out", "session")
	if r.status != 0 {
		t.Fatal(r)
	}
	runs := 0
	for _, x := range records(t, r.out) {
		if x.Kind != record.Instrumented {
			continue
		}
		runs++
		if x.Sched == nil {
			t.Fatal(x.Unavailable["sched"])
		}
		pairs := seenTwice(x)
		if len(pairs) != len(x.Workers) {
			t.Errorf("%s: %d of %d workers are known from both", x.Cell.Workload, len(pairs), len(x.Workers))
		}
		var on, ownOn, waited, ownWaited float64
		for _, p := range pairs {
			th, w := p[0].(record.ThreadTime), p[1].(record.Worker)
			on, ownOn = on+float64(th.OnNS), ownOn+float64(*w.OnCPUNS)
			waited, ownWaited = waited+float64(th.RunnableNS), ownWaited+float64(*w.RunDelayNS)
			if d := th.Voluntary - w.Switches.Voluntary; d < -3 || d > 3 {
				t.Errorf("%s: %s %d: %d voluntary switches, %d by getrusage", x.Cell.Workload, w.Role, w.Index, th.Voluntary, w.Switches.Voluntary)
			}
			if d := th.Involuntary - w.Switches.Involuntary; d < -3 || d > 3 {
				t.Errorf("%s: %s %d: %d involuntary switches, %d by getrusage", x.Cell.Workload, w.Role, w.Index, th.Involuntary, w.Switches.Involuntary)
			}
		}
		t.Logf("%s: on CPU %.1f ms, %.1f by schedstat; waiting %.1f ms, %.1f by schedstat", x.Cell.Workload, on/1e6, ownOn/1e6, waited/1e6, ownWaited/1e6)
		if math.Abs(on-ownOn) > 0.03*ownOn {
			t.Errorf("%s: on CPU %.1f ms, %.1f by schedstat", x.Cell.Workload, on/1e6, ownOn/1e6)
		}
		if math.Abs(waited-ownWaited) > 0.2*ownWaited {
			t.Errorf("%s: waiting %.1f ms, %.1f by schedstat", x.Cell.Workload, waited/1e6, ownWaited/1e6)
		}
		i := slices.IndexFunc(x.Instruments, func(i record.Instrument) bool { return i.Name == "sched" })
		if i < 0 || x.Instruments[i].SelfNS == nil || *x.Instruments[i].SelfNS <= 0 || x.Instruments[i].Calls == nil {
			t.Errorf("%s: the instrument's cost is not in %+v", x.Cell.Workload, x.Instruments)
		}
	}
	if runs != 2 {
		t.Errorf("%d instrumented runs of 2", runs)
	}
}

// grants is what a reason names when privilege is what is missing.
var grants = regexp.MustCompile(`CAP_[A-Z]+|\broot\b|kernel\.[a-z_]+|RLIMIT_[A-Z]+`)

// absences are the figures of a record that are not there, with the reasons.
func absences(t *testing.T, line string) (have map[string]bool, why map[string]string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	have = map[string]bool{}
	for k := range m {
		have[k] = true
	}
	why = map[string]string{}
	if m["unavailable"] != nil {
		if err := json.Unmarshal(m["unavailable"], &why); err != nil {
			t.Fatal(err)
		}
	}
	return have, why
}

// Without privilege the same command gives the same table, less what needs it;
// each absence says what would grant it.
func TestUnprivilegedRunGivesTheSameTable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to be root once")
	}
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	run := func(uid int, args ...string) result {
		dir := tempDir(t)
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, append([]string{"run", "--workload", "pingpong,fanin", "--parallel", "1,4", "--runs", "2", "--window", "100ms", "--slice", "50ms", "--warmup", "10ms", "--instrument", "all",
			"--out", filepath.Join(dir, "session")}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		r := finish(t, cmd, dir)
		if r.status != 0 {
			t.Fatalf("as user %d: %v", uid, r)
		}
		return r
	}

	// Columns and rows, without figures: they stand in the lines that start
	// with the header's or a workload's name.
	shape := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) < 3 {
				continue
			}
			switch f[0] {
			case "workload":
				fmt.Fprintln(&b, f)
			case "pingpong", "fanin":
				fmt.Fprintln(&b, f[:2], len(f))
			}
		}
		return b.String()
	}
	wide := []string{"--explain"}
	root, plain := run(0, wide...), run(nobody, wide...)
	if a, b := shape(root.out), shape(plain.out); a != b || a == "" {
		t.Errorf("tables as root:\n%s\nand without privilege:\n%s", root.out, plain.out)
	}
	if !grants.MatchString(plain.out) {
		t.Errorf("the table does not say what privilege would add:\n%s", plain.out)
	}

	rootLines, plainLines := strings.Split(strings.TrimSpace(run(0, "--json").out), "\n"), strings.Split(strings.TrimSpace(run(nobody, "--json").out), "\n")
	if len(rootLines) != 16 || len(plainLines) != 16 {
		t.Fatalf("%d and %d records of 16", len(rootLines), len(plainLines))
	}
	lost := map[string]string{}
	for i := range rootLines {
		have, whyRoot := absences(t, rootLines[i])
		plain, why := absences(t, plainLines[i])
		for k := range have {
			if !plain[k] && k != "unavailable" && k != "warnings" && why[k] == "" {
				t.Errorf("record %d without privilege has no %s, and no reason", i, k)
			}
		}
		for name, reason := range why {
			if whyRoot[name] == "" {
				lost[name] = reason
			}
		}
	}
	for name, reason := range lost {
		t.Logf("%s: %s", name, reason)
		if !grants.MatchString(reason) {
			t.Errorf("%s is absent without privilege, and what would grant it is not said: %s", name, reason)
		}
	}
	if lost["sched"] == "" || lost["counters"] == "" {
		t.Errorf("nothing was lost with privilege: %v", lost)
	}
}
