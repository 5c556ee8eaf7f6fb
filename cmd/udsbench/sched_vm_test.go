//go:build linux && vm

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"udsbench/environ"
	"udsbench/journal"
	"udsbench/record"
)

// boot runs a script in a virtual machine with two CPUs under a kernel, scripts/vm
// being told flags as well, and
// gives the directory with its results.
func boot(t *testing.T, kernel, script string, flags ...string) (out string) {
	t.Helper()
	dir := t.TempDir()
	out = filepath.Join(dir, "out")
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../scripts/vm", append([]string{"--shape", "cpu=max sockets=1 cores=2", "--kernel", kernel, "--out", out, "--timeout", "500", "--script", file}, flags...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/vm --kernel %s: %v\n%s", kernel, err, text)
	}
	return out
}

// Kernels that differ in preemption are told apart, and the scheduler suite
// runs on each; where the model can be switched while the kernel runs, it is a
// factor like any other.
func TestVMSchedulers(t *testing.T) {
	for _, k := range []struct {
		kernel, scheduler, static string
		models                    [2]string // that it can be switched between
	}{
		{"debian-6.1", "CFS", "voluntary", [2]string{"none", "full"}},
		{"debian-rt", "CFS", "rt", [2]string{}},
		{"debian-6.12", "EEVDF", "voluntary", [2]string{"none", "full"}},
		{"debian-6.12-rt", "EEVDF", "rt", [2]string{"full", "lazy"}},
	} {
		dynamic := k.models[0] != ""
		t.Run(k.kernel, func(t *testing.T) {
			script := "run --suite sched --parallel 1,2 --runs 1 --window 40ms --slice 20ms --warmup 0s --out session\n"
			if dynamic {
				script += "run --workload pingpong --param sched/preempt=" + k.models[0] + "," + k.models[1] + " --runs 2 --window 100ms --slice 50ms --out preempt\n"
			}
			out := boot(t, k.kernel, script)
			text, err := os.ReadFile(filepath.Join(out, "session", "environment.json"))
			if err != nil {
				t.Fatal(err)
			}
			var env environ.Environment
			if err := json.Unmarshal(text, &env); err != nil {
				t.Fatal(err)
			}
			p := env.Sched.Preemption
			if env.Sched.Name != k.scheduler || p.Static != k.static || p.Dynamic == nil || *p.Dynamic != dynamic || (p.Model == "rt") != (k.static == "rt") || p.Model == "" {
				t.Errorf("%s %s: scheduler %s, preemption %+v", env.Kernel.Release, env.Kernel.Version, env.Sched.Name, p)
			}
			j, err := journal.Read(filepath.Join(out, "session"))
			if err != nil {
				t.Fatal(err)
			}
			if len(j.Runs) != j.Plan.Len() || len(j.Plan.Cells) < 20 {
				t.Errorf("%d runs of %d, of %d cells", len(j.Runs), j.Plan.Len(), len(j.Plan.Cells))
			}
			for _, r := range j.Runs {
				if r.Status != record.OK {
					t.Errorf("%+v: %v", r.Cell, r.Error)
				}
			}
			if !dynamic {
				return
			}
			j, err = journal.Read(filepath.Join(out, "preempt"))
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]int{}
			for _, r := range j.Runs {
				if r.Status != record.OK {
					t.Errorf("%+v: %v", r.Cell, r.Error)
				}
				seen[r.Cell.Params["sched/preempt"]]++
			}
			if seen[k.models[0]] != 2 || seen[k.models[1]] != 2 {
				t.Errorf("runs by model: %v", seen)
			}
		})
	}
}
