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

// accounts are where the windows of a run's workers went, in ns: by their
// switches, dated by the run queue's clock as the kernel's own accounts are, and
// by their own snapshots of those.
type accounts struct {
	threads                         int
	on, runnable, blocked, life     float64
	ownOn, ownRunnable, ownBlocked  float64
	window                          float64
	trueOn, idleExit, behind, sleep float64 // by the time of day
}

func accountsOf(t *testing.T, r record.Run) (a accounts) {
	t.Helper()
	for _, p := range seenTwice(r) {
		th, w := p[0].(record.ThreadTime), p[1].(record.Worker)
		if th.Clock == nil {
			t.Fatalf("%s %d: the run queue's clock was not read", w.Role, w.Index)
		}
		// Events of two CPUs that cross each other cost some hundred ns each, and as
		// long as a hypervisor keeps one of the two from running.
		if d := th.OnNS + th.RunnableNS + th.BlockedNS - th.LifeNS; max(d, -d) > th.LifeNS/100 {
			t.Errorf("%s %d: %d on CPU, %d runnable and %d blocked by its switches are not %d ns", w.Role, w.Index, th.OnNS, th.RunnableNS, th.BlockedNS, th.LifeNS)
		}
		a.threads++
		a.on += float64(th.Clock.OnNS)
		a.runnable += float64(th.Clock.RunnableNS)
		a.blocked += float64(th.LifeNS - th.Clock.OnNS - th.Clock.RunnableNS)
		a.life += float64(th.LifeNS)
		a.ownOn += float64(*w.OnCPUNS)
		a.ownRunnable += float64(*w.RunDelayNS)
		a.ownBlocked += float64(*w.BlockedNS)
		a.window += float64(w.WindowNS)
		a.trueOn += float64(th.OnNS)
	}
	for _, s := range r.Sched.Roles {
		if d := s.OnNS + s.BehindNS + s.IdleExitNS + s.AsleepNS - s.WallNS; max(d, -d) > s.WallNS/100 || min(s.OnNS, s.BehindNS, s.IdleExitNS, s.AsleepNS) < 0 {
			t.Errorf("parts are not the whole: %+v", s)
		}
		a.idleExit += float64(s.IdleExitNS)
		a.behind += float64(s.BehindNS)
		a.sleep += float64(s.AsleepNS)
	}
	return a
}

func (a accounts) String() string {
	p := func(v, whole float64) string { return fmt.Sprintf("%.1f", 100*v/whole) }
	return fmt.Sprintf("window %.1f ms of %.1f; by switches and by snapshots, %% of the window: on CPU %s and %s, runnable %s and %s, blocked %s and %s; by the time of day on CPU %s, behind others %s, for idle CPUs %s, asleep %s",
		a.window/1e6/float64(a.threads), a.life/1e6/float64(a.threads), p(a.on, a.life), p(a.ownOn, a.window), p(a.runnable, a.life), p(a.ownRunnable, a.window), p(a.blocked, a.life), p(a.ownBlocked, a.window),
		p(a.trueOn, a.life), p(a.behind, a.life), p(a.idleExit, a.life), p(a.sleep, a.life))
}

// Time on CPU, blocked and runnable, measured at the switches, are what
// schedstat and the remainder make them, within 5 % of the window, on an idle
// machine and on a busy one; and in every thread they are the whole window.
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
				a := accountsOf(t, x)
				if a.threads == 0 || a.threads < len(x.Workers)/2 {
					t.Errorf("%s: %d of %d workers are known from both", name, a.threads, len(x.Workers))
					continue
				}
				t.Logf("%s: %v", name, a)
				// Workers take their snapshots at an operation's end, which may be
				// late on a busy machine: what lies in one window only cannot agree.
				slack := 0.05 + math.Abs(a.window-a.life)/a.life
				for what, d := range map[string]float64{"on CPU": a.on/a.life - a.ownOn/a.window, "on waiting": a.runnable/a.life - a.ownRunnable/a.window, "on sleep": a.blocked/a.life - a.ownBlocked/a.window} {
					if math.Abs(d) > slack {
						t.Errorf("%s: switches and snapshots are apart by %.1f %% of the window %s", name, 100*d, what)
					}
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
	cells := [][]string{{"--workload", "pingpong,fanin", "--parallel", "4"}, {"--workload", "pingpong", "--parallel", "1", "--placement", "same-cpu"}}
	if runtime.NumCPU() > 1 {
		cells = append(cells, []string{"--workload", "pingpong", "--parallel", "1", "--placement", "split"})
	}
	for _, cell := range cells {
		// The two windows are not quite the same, and what happens at their edges
		// on a disturbed machine is in one of them only: a calm run of four counts.
		var apart []string
		for range 4 {
			apart = nil
			r := udsbench(t, tempDir(t), append([]string{"run"}, append(cell, "--ops", "20000", "--runs", "1", "--instrument", "sched", "--json", "--out", "session")...)...)
			if r.status != 0 {
				t.Fatal(r)
			}
			runs := 0
			for _, x := range records(t, r.out) {
				if x.Kind == record.Instrumented {
					runs++
					apart = append(apart, switchesAgree(t, x)...)
				}
			}
			if runs == 0 {
				t.Errorf("%v: no instrumented run", cell)
			}
			if apart == nil {
				break
			}
		}
		for _, line := range apart {
			t.Error("four times over, last:", line)
		}
	}
}

// switchesAgree tells where the switches and the kernel's accounts are apart.
func switchesAgree(t *testing.T, x record.Run) (apart []string) {
	t.Helper()
	say := func(format string, args ...any) { apart = append(apart, fmt.Sprintf(format, args...)) }
	name := x.Cell.Workload + " " + x.Cell.Placement
	if x.Sched == nil {
		t.Fatal(x.Unavailable["sched"])
	}
	pairs := seenTwice(x)
	if len(pairs) != len(x.Workers) {
		t.Errorf("%s: %d of %d workers are known from both", name, len(pairs), len(x.Workers))
	}
	for _, p := range pairs {
		th, w := p[0].(record.ThreadTime), p[1].(record.Worker)
		// The trace's window is a little longer than a worker's own, which another
		// thread may interrupt just then; package offcpu has them the same.
		near := func(a, b int64) bool { return max(a-b, b-a) <= 3+b/500 }
		if !near(th.Voluntary, w.Switches.Voluntary) {
			say("%s: %s %d: %d voluntary switches, %d by getrusage", name, w.Role, w.Index, th.Voluntary, w.Switches.Voluntary)
		}
		if !near(th.Involuntary, w.Switches.Involuntary) {
			say("%s: %s %d: %d involuntary switches, %d by getrusage", name, w.Role, w.Index, th.Involuntary, w.Switches.Involuntary)
		}
	}
	a := accountsOf(t, x)
	t.Logf("%s: %v", name, a)
	if math.Abs(a.on-a.ownOn) > 0.03*a.ownOn+0.001*a.window {
		say("%s: on CPU %.1f ms, %.1f by schedstat", name, a.on/1e6, a.ownOn/1e6)
	}
	if math.Abs(a.runnable-a.ownRunnable) > 0.2*a.ownRunnable+0.001*a.window {
		say("%s: waiting %.1f ms, %.1f by schedstat", name, a.runnable/1e6, a.ownRunnable/1e6)
	}
	if ag := x.Sched.Agreement; ag == nil || ag.Threads != len(pairs) {
		t.Errorf("%s: agreement %+v", name, ag)
	}
	i := slices.IndexFunc(x.Instruments, func(i record.Instrument) bool { return i.Name == "sched" })
	if i < 0 || x.Instruments[i].SelfNS == nil || *x.Instruments[i].SelfNS <= 0 || x.Instruments[i].Calls == nil {
		t.Errorf("%s: the instrument's cost is not in %+v", name, x.Instruments)
	}
	if len(x.Sched.Threads) != len(x.Workers) {
		t.Errorf("%s: %d threads are told of, %d are workers", name, len(x.Sched.Threads), len(x.Workers))
	}
	return apart
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

	// Columns and rows, without figures: what stands between the header, which
	// begins with "workload", and the next empty line.
	shape := func(text string) string {
		var b strings.Builder
		inside := false
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			switch {
			case len(f) > 3 && f[0] == "workload":
				inside = true
				fmt.Fprintln(&b, f)
			case len(f) == 0:
				inside = false
			case inside:
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
			if k == "locks" && strings.Contains(plainLines[i], `"name":"locks"`) {
				continue // looked at, and none waited
			}
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
