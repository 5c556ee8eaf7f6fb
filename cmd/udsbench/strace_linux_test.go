package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"udsbench/record"
)

// calls counts the system calls of a thread by name.
type calls map[string]int

// traced runs udsbench under strace and returns the calls of each worker
// process, all its threads together, by role.
func traced(t *testing.T, args ...string) map[string]calls {
	t.Helper()
	dir := tempDir(t)
	logs := filepath.Join(dir, "log")
	args = append([]string{"-f", "-ff", "-qq", "-o", logs, binary, "run", "--json", "--out", filepath.Join(dir, "session")}, args...)
	r := finish(t, exec.Command("strace", args...), dir)
	if r.status != 0 {
		t.Fatalf("strace %v: %v", args, r)
	}
	runs := records(t, r.out)
	if len(runs) != 1 || runs[0].Status != record.OK {
		t.Fatalf("%d runs: %s", len(runs), r.out)
	}

	files, _ := filepath.Glob(logs + ".*")
	byThread := map[int]calls{}
	process := map[int]int{} // of a thread, by who cloned it with CLONE_THREAD
	clone := regexp.MustCompile(`^clone3?\(.*CLONE_THREAD.*\) = (\d+)`)
	alsoClone := regexp.MustCompile(`^clone3?\(.*CLONE_THREAD.*=> \{.*\}.* = (\d+)`)
	parent := map[int]int{}
	for _, name := range files {
		tid, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		c := calls{}
		for s := bufio.NewScanner(f); s.Scan(); {
			line := s.Text()
			call, _, ok := strings.Cut(line, "(")
			if !ok || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") {
				continue
			}
			c[call]++
			if m := clone.FindStringSubmatch(line); m != nil {
				child, _ := strconv.Atoi(m[1])
				parent[child] = tid
			} else if m := alsoClone.FindStringSubmatch(line); m != nil {
				child, _ := strconv.Atoi(m[1])
				parent[child] = tid
			}
		}
		f.Close()
		byThread[tid] = c
	}
	for tid := range byThread {
		p := tid
		for parent[p] != 0 {
			p = parent[p]
		}
		process[tid] = p
	}
	roles := map[int]string{}
	for _, w := range runs[0].Workers {
		if roles[w.PID] != w.Role {
			roles[w.PID] += w.Role // one process of both: "clientserver"
		}
	}
	sums := map[string]calls{}
	for tid, c := range byThread {
		role := roles[process[tid]]
		if role == "" {
			continue
		}
		if sums[role] == nil {
			sums[role] = calls{}
		}
		for name, n := range c {
			sums[role][name] += n
		}
	}
	return sums
}

// The proof that the Go runtime is not in the timed path: N more operations
// are exactly N more reads and N more writes on each side, and next to nothing
// else.
func TestOnlyTheWorkloadsOwnCalls(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("needs strace (apt-get install strace)")
	}
	const base, more = 2000, 100000
	for _, model := range []string{"process", "thread"} {
		for _, clock := range []string{"none", "vdso"} {
			t.Run(model+"-"+clock, func(t *testing.T) {
				args := []string{"--workload", "pingpong", "--model", model, "--server-model", model, "--clock", clock, "--runs", "1", "--ops"}
				// How often the runtime's monitor thread looks around while a
				// worker starts varies with the machine's load by some tens of
				// calls, so that each side is given four pairs of runs to show that
				// it needs no more. The reads and writes are exact in each.
				best := map[string]int{}
				for range 4 {
					few := traced(t, append(args, strconv.Itoa(base))...)
					many := traced(t, append(args, strconv.Itoa(base+more))...)
					if len(few) != 2 || len(many) != 2 {
						t.Fatalf("roles: %v, %v", few, many)
					}
					for role := range many {
						others := 0
						for name := range union(few[role], many[role]) {
							d := many[role][name] - few[role][name]
							if name == "read" || name == "write" {
								if d != more {
									t.Errorf("%s: %d more %ss, want %d", role, d, name, more)
								}
								continue
							}
							others += max(d, -d)
						}
						t.Logf("%s: %d other calls", role, others)
						if b, ok := best[role]; !ok || others < b {
							best[role] = others
						}
					}
					if max(best[record.Client], best[record.Server]) <= 50 {
						return
					}
				}
				t.Errorf("other calls %v, want at most 50 on a side", best)
			})
		}
	}
}

func union(a, b calls) calls {
	u := calls{}
	for name := range a {
		u[name] = 1
	}
	for name := range b {
		u[name] = 1
	}
	return u
}
