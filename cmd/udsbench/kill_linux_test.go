package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"udsbench/janitor"
	"udsbench/journal"
	"udsbench/pingpong"
	"udsbench/record"
)

// family lists the worker and janitor processes whose private directory lies
// under dir.
func family(dir string) (workers, janitors []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		args := strings.Split(string(b), "\x00")
		if len(args) < 3 || !strings.HasPrefix(args[2], dir+"/") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		switch args[1] {
		case pingpong.WorkerArg:
			workers = append(workers, pid)
		case janitor.Arg:
			janitors = append(janitors, pid)
		}
	}
	return workers, janitors
}

// threads counts a process's threads: the server of a fan-in has the most.
func threads(pid int) int {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return len(tasks)
}

// Whoever is killed, whenever: no process and no directory is left, every
// record that was written is right, and the exit status says what happened.
func TestKilledAtAnyMoment(t *testing.T) {
	const rounds = 50
	random := rand.New(rand.NewPCG(1, 2))
	victims := []string{"worker", "server", "coordinator", "coordinator, a worker stopped", "coordinator and janitor", "coordinator and janitor, a worker stopped"}
	hits := map[string]int{}
	for round := range rounds {
		victim := victims[round%len(victims)]
		dir := tempDir(t)
		session := filepath.Join(dir, "session")
		cmd := exec.Command(binary, "run", "--workload", "pingpong,fanin", "--parallel", "1,6", "--runs", "2",
			"--window", "60ms", "--warmup", "10ms", "--slice", "20ms", "--seed", fmt.Sprint(round), "--out", session, "--json")
		// Files, not pipes: a stopped worker whose coordinator and janitor are
		// dead would keep a pipe open until it is swept.
		outFile, errFile := create(t, dir, "out"), create(t, dir, "err")
		cmd.Stdout, cmd.Stderr = outFile, errFile
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// At a random moment of the session, and then as soon as there is such a victim.
		time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
		killed := false
		for end := time.Now().Add(2 * time.Second); !killed && time.Now().Before(end); {
			workers, janitors := family(dir)
			killed = kill(cmd.Process.Pid, victim, workers, janitors, random)
			if syscall.Kill(cmd.Process.Pid, 0) != nil {
				break
			}
		}
		err := cmd.Wait()
		out, errs := contents(t, outFile), contents(t, errFile)
		if killed && cmd.ProcessState.ExitCode() == 0 && strings.HasPrefix(victim, "coordinator") {
			killed = false // it had ended before it was killed
		}
		if killed {
			hits[victim]++
		}
		switch coordinator := strings.HasPrefix(victim, "coordinator"); {
		case !killed:
		case coordinator && cmd.ProcessState.ExitCode() != -1:
			t.Errorf("round %d, %s: %v", round, victim, err)
		case !coordinator && cmd.ProcessState.ExitCode() == 0 && strings.Contains(out, `"failed"`):
			t.Errorf("round %d, %s: a run failed and the status is 0", round, victim)
		case !coordinator && cmd.ProcessState.ExitCode() > 1:
			t.Errorf("round %d, %s: status %d: %s", round, victim, cmd.ProcessState.ExitCode(), errs)
		}
		if strings.Contains(victim, "janitor") {
			// The next start sweeps.
			r := udsbench(t, dir, "run", "--workload", "pingpong", "--runs", "1", "--window", "10ms", "--slice", "10ms", "--warmup", "0", "--out", filepath.Join(dir, "next"))
			if r.status != 0 {
				t.Errorf("round %d, after %s: %v", round, victim, r)
			}
		}
		alone(t, dir, fmt.Sprintf("round %d, %s", round, victim))
		readable(t, session, out, fmt.Sprintf("round %d, %s", round, victim))
	}
	for _, v := range victims {
		if hits[v] == 0 {
			t.Errorf("no %s was ever killed", v)
		}
	}
	t.Log(hits)
}

func create(t *testing.T, dir, name string) *os.File {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func contents(t *testing.T, f *os.File) string {
	f.Close()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// kill kills the victim, if there is one now.
func kill(coordinator int, victim string, workers, janitors []int, random *rand.Rand) bool {
	if strings.HasSuffix(victim, "stopped") || victim == "worker" || victim == "server" {
		if len(workers) == 0 {
			return false
		}
	}
	switch victim {
	case "worker":
		return syscall.Kill(workers[random.IntN(len(workers))], syscall.SIGKILL) == nil
	case "server":
		server := workers[0]
		for _, w := range workers {
			if threads(w) > threads(server) {
				server = w
			}
		}
		return syscall.Kill(server, syscall.SIGKILL) == nil
	}
	if strings.HasSuffix(victim, "stopped") {
		if syscall.Kill(workers[random.IntN(len(workers))], syscall.SIGSTOP) != nil {
			return false
		}
	}
	if strings.Contains(victim, "janitor") {
		if len(janitors) == 0 {
			return false
		}
		// Stopped first, so that the janitor's death is not noticed before its own.
		syscall.Kill(coordinator, syscall.SIGSTOP)
		for _, j := range janitors {
			syscall.Kill(j, syscall.SIGKILL)
		}
	}
	return syscall.Kill(coordinator, syscall.SIGKILL) == nil
}

// alone waits until no process of the family is left, and no private directory.
func alone(t *testing.T, dir, what string) {
	t.Helper()
	var workers, janitors []int
	var dirs []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		workers, janitors = family(dir)
		dirs, _ = filepath.Glob(filepath.Join(dir, "udsbench.*"))
		if len(workers)+len(janitors)+len(dirs) == 0 {
			return
		}
	}
	t.Errorf("%s: left behind: workers %v, janitors %v, directories %v", what, workers, janitors, dirs)
	for _, pid := range append(workers, janitors...) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// readable reads the session back: what was printed is there, and no record is
// wrong.
func readable(t *testing.T, session, printed, what string) {
	t.Helper()
	s, err := journal.Read(session)
	if err != nil {
		if _, serr := os.Stat(filepath.Join(session, journal.RunsFile)); serr != nil {
			return // killed before the session was there
		}
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := journal.ReadWorkers(session, s.Runs); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if n := strings.Count(printed, "\n"); len(s.Runs) < n {
		t.Errorf("%s: %d records were printed, %d kept", what, n, len(s.Runs))
	}
	for _, r := range s.Runs {
		text, _ := json.Marshal(r)
		switch {
		case r.Status == record.OK && (r.Ops == nil || *r.Ops == 0 || r.Error != nil):
			t.Errorf("%s: an ok record without operations: %s", what, text)
		case r.Status == record.Failed && (r.Error == nil || r.OpsPerS != nil || r.Ops != nil):
			t.Errorf("%s: a failed record with figures, or without a cause: %s", what, text)
		}
	}
}

// Ctrl-C reaches the coordinator alone; what was finished is kept, and the
// session can be carried on with.
func TestInterruptedSessionIsResumed(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := tempDir(t)
		session := filepath.Join(dir, "session")
		args := []string{"run", "--workload", "pingpong", "--parallel", "1,2", "--runs", "10", "--window", "100ms", "--warmup", "10ms", "--out", session}
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(900 * time.Millisecond)
		cmd.Process.Signal(sig)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != 130 {
			t.Errorf("%v: %v: %s", sig, cmd.ProcessState, errs.String())
		}
		alone(t, dir, sig.String())
		s, err := journal.Read(session)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Runs) == 0 || len(s.Runs) == 20 {
			t.Errorf("%v: %d of 20 runs kept", sig, len(s.Runs))
		}
		if r := udsbench(t, dir, "run", "--resume", session, "--workload", "pingpong"); r.status != 2 || !strings.Contains(r.err, "plan") {
			t.Errorf("another plan was resumed: %v", r)
		}
		r := udsbench(t, dir, "run", "--resume", session, "--json")
		if r.status != 0 || len(records(t, r.out)) != 20-len(s.Runs) {
			t.Errorf("%v: resuming after %d runs: %v", sig, len(s.Runs), r)
		}
		if s, err = journal.Read(session); err != nil || len(s.Runs) != 20 {
			t.Errorf("%v: %d runs after resuming, %v", sig, len(s.Runs), err)
		}
	}
}
