//go:build linux && vm

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"udsbench/journal"
	"udsbench/record"
)

// shapes are the machines that are booted: their CPUs, and those that may be used.
var shapes = []struct {
	name                          string
	packages, nodes, cores, pairs int
	threads                       int
}{
	{"opteron-4x2", 4, 4, 8, 8 * 9 / 2, 1},
	{"xeon-htt", 2, 1, 2, 4 * 5 / 2, 2},
	{"xeon-htt-2c", 2, 1, 4, 8 * 9 / 2, 2},
	{"offline-cpuset", 2, 1, 4, 5 * 6 / 2, 2},
}

// vm boots a machine with the program of a package as its init.
func vm(t *testing.T, shape, main, script string) (out, stdout string) {
	t.Helper()
	dir := t.TempDir()
	out = filepath.Join(dir, "out")
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script), 0600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.Command("../../vm", "--shape", shape, "--main", main, "--out", out, "--timeout", "300", "--script", file)
	cmd.Stderr = &errs
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatalf("scripts/vm --shape %s: %v\n%s\n%s", shape, err, text, errs.String())
	}
	return out, string(text)
}

// Each placement that the shape has puts every thread where it says, as the
// kernel tells; each that it lacks is refused with its reason.
func TestVMPlacements(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", s.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if _, got := vm(t, s.name, "./scripts/internal/placecheck", "check\n"); got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// The program itself as init: what it discovers is the shape, and the matrix
// comes back whole.
func TestVMMatrix(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			out, stdout := vm(t, s.name, "./cmd/udsbench",
				"topology --json\nrun --suite matrix --runs 2 --window 60ms --slice 20ms --warmup 10ms --out session\n")
			var m struct {
				Packages, Nodes, Cores int
				Threads                int `json:"threads_per_core"`
			}
			if err := json.NewDecoder(strings.NewReader(stdout)).Decode(&m); err != nil {
				t.Fatalf("%v: %s", err, stdout)
			}
			if m.Packages != s.packages || m.Nodes != s.nodes || m.Cores != s.cores || m.Threads != s.threads {
				t.Errorf("discovered %+v, want %+v", m, s)
			}
			if !strings.Contains(stdout, "time of a round trip between CPUs") {
				t.Errorf("no matrix in:\n%s", stdout)
			}
			session := filepath.Join(out, "session")
			j, err := journal.Read(session)
			if err != nil {
				t.Fatal(err)
			}
			if len(j.Plan.Cells) != s.pairs || len(j.Runs) != 2*s.pairs {
				t.Errorf("%d runs of %d pairs, want 2 of each of %d", len(j.Runs), len(j.Plan.Cells), s.pairs)
			}
			if err := journal.ReadWorkers(session, j.Runs); err != nil {
				t.Fatal(err)
			}
			for _, r := range j.Runs {
				if r.Status != record.OK {
					t.Errorf("%s: %v", r.Cell.Placement, r.Error)
				}
				for _, w := range r.Workers {
					if len(w.CPUs) != 1 || w.CPUSeen != nil && *w.CPUSeen != w.CPUs[0] {
						t.Errorf("%s: %s has mask %v and was seen on %v", r.Cell.Placement, w.Role, w.CPUs, w.CPUSeen)
					}
				}
			}
		})
	}
}
