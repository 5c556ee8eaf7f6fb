package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/plan"
	"udsbench/record"
)

var now = time.Date(2026, 3, 1, 10, 11, 12, 0, time.UTC)

// catalogue takes every cell as it is.
type catalogue struct{}

func (catalogue) Fill(c record.Cell) record.Cell { return c }
func (catalogue) Check(record.Cell) error        { return nil }

func testPlan(t testing.TB, runs int) *plan.Plan {
	t.Helper()
	s := plan.DefaultSettings()
	s.Runs = runs
	p, err := plan.Build(plan.Input{Given: plan.Lists{Workload: []string{"pingpong"}, Parallel: []string{"1", "2"}}, Settings: s}, catalogue{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func testRun(seq int) *record.Run {
	ops := uint64(1000 + seq)
	r := &record.Run{Schema: record.Schema, Boot: "b", Seq: seq, Kind: record.Timed, Status: record.OK,
		Cell: record.Cell{Workload: "pingpong", Parallel: 1, Params: map[string]string{}}, Ops: &ops}
	for i := range 2 {
		r.Workers = append(r.Workers, record.Worker{Role: record.Client, Index: i, PID: 100 + seq})
	}
	return r
}

func always(json.RawMessage) error { return nil }

func create(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Create(dir, now, map[string]string{"kernel": "6.12"}, testPlan(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func write(t testing.TB, dir string, seqs ...int) {
	t.Helper()
	j := create(t, dir)
	defer j.Close()
	for _, s := range seqs {
		if err := j.Append(testRun(s)); err != nil {
			t.Fatal(err)
		}
	}
}

// check reads dir and finds the runs 0 to n-1, whole and with their workers.
func check(t testing.TB, dir string, n int) *Session {
	t.Helper()
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Runs) != n {
		t.Fatalf("%d runs, want %d (%v)", len(s.Runs), n, s.Warnings)
	}
	if err := ReadWorkers(dir, s.Runs); err != nil {
		t.Fatal(err)
	}
	for i, r := range s.Runs {
		want := testRun(i)
		if r.Seq != i || *r.Ops != *want.Ops || len(r.Workers) != 2 || r.Workers[1].PID != 100+i || r.Session == "" {
			t.Fatalf("run %d came back as %+v", i, r)
		}
	}
	return s
}

func TestWhatIsAppendedIsReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "session")
	write(t, dir, 0, 1, 2)
	s := check(t, dir, 3)
	if s.Plan.Hash != testPlan(t, 5).Hash || string(s.Environment) != "{\n  \"kernel\": \"6.12\"\n}\n" || len(s.Warnings) != 0 {
		t.Errorf("%+v", s)
	}
	if s.Runs[0].Session != "session" {
		t.Errorf("session is named %s", s.Runs[0].Session)
	}
	text, err := os.ReadFile(filepath.Join(dir, RunsFile))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(`"workers"`)) {
		t.Errorf("runs.jsonl has workers in it:\n%s", text)
	}
}

// A session cut at any byte, as a crash may cut it, keeps every earlier run,
// and is carried on with.
func TestTornAtEveryByte(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	write(t, whole, 0, 1, 2)
	text, err := os.ReadFile(filepath.Join(whole, RunsFile))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut <= len(text); cut += 7 {
		dir := filepath.Join(t.TempDir(), "session")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, RunsFile), int64(cut)); err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(text[:cut], []byte{'\n'})
		s := check(t, dir, n)
		if isTorn := cut > 0 && text[cut-1] != '\n'; isTorn != (len(s.Warnings) == 1) {
			t.Fatalf("cut at %d: warnings %v", cut, s.Warnings)
		}
		// Drop the workers that crash order cannot have left: those beyond the
		// run in flight.
		dropWorkers(t, dir, n+1)
		j, err := Open(dir, nil, always)
		if err != nil {
			t.Fatal(err)
		}
		for seq := range 5 {
			if j.Done(seq) != (seq < n) {
				t.Fatalf("cut at %d: run %d done: %v", cut, seq, j.Done(seq))
			}
			if !j.Done(seq) {
				if err := j.Append(testRun(seq)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(j.Earlier()) != n {
			t.Fatalf("%d earlier runs, want %d", len(j.Earlier()), n)
		}
		j.Close()
		if s := check(t, dir, 5); len(s.Warnings) != 0 {
			t.Fatalf("carried on with, still: %v", s.Warnings)
		}
		workers, err := os.ReadFile(filepath.Join(dir, WorkersFile))
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(workers, []byte{'\n'}); got != 5 {
			t.Fatalf("cut at %d: %d lines of workers after carrying on, want 5", cut, got)
		}
	}
}

func dropWorkers(t *testing.T, dir string, keep int) {
	path := filepath.Join(dir, WorkersFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ls := bytes.SplitAfter(text, []byte{'\n'})
	if err := os.WriteFile(path, bytes.Join(ls[:min(keep, len(ls))], nil), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestTornWorkersAreCutOff(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	write(t, dir, 0, 1)
	f, err := os.OpenFile(filepath.Join(dir, WorkersFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"schema":1,"session":"x","se`)
	f.Close()
	check(t, dir, 2)
	j, err := Open(dir, nil, always)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if len(j.Warnings()) != 1 || !strings.Contains(j.Warnings()[0], "workers.jsonl is torn") {
		t.Errorf("warnings %v", j.Warnings())
	}
	if err := j.Append(testRun(2)); err != nil {
		t.Fatal(err)
	}
	check(t, dir, 3)
}

func TestCorruptMiddleIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	write(t, dir, 0, 1, 2)
	path := filepath.Join(dir, RunsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, words string }{
		"no JSON":       {`"seq":1`, `"seq"1`, "line 2 is not a record"},
		"another type":  {`"seq":1`, `"seq":"1"`, "line 2 is not a record"},
		"later schema":  {`{"schema":1`, `{"schema":99`, "line 1 has schema 99"},
		"without any":   {`{"schema":1`, `{"schema":0`, "line 1 has schema 0"},
		"an empty line": {"}\n{", "}\n\n{", "line 2 is not a record"},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if err := os.WriteFile(path, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	tmp := t.TempDir()
	p := testPlan(t, 1)
	write(t, filepath.Join(tmp, "full"), 0)
	if err := os.WriteFile(filepath.Join(tmp, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for dir, words := range map[string]string{
		filepath.Join(tmp, "full"):        "nothing is overwritten",
		filepath.Join(tmp, "file"):        "--out",
		filepath.Join(tmp, "file", "sub"): "cannot make the session directory: not a directory",
		"/proc/udsbench":                  "cannot make the session directory",
	} {
		if dir == "/proc/udsbench" && !isDir("/proc/self") {
			continue
		}
		_, err := Create(dir, now, nil, p)
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", dir, err, words)
		}
	}
	check(t, filepath.Join(tmp, "full"), 1)
	empty := filepath.Join(tmp, "empty")
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, empty, 0)
	check(t, empty, 1)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func TestUnwritableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		if out, err := asNobody(t, "TestUnwritableDirectory"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	tmp := t.TempDir()
	if err := os.Chmod(tmp, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Chdir(tmp)
	for _, dir := range []string{"", "session", tmp} {
		_, err := Create(dir, now, nil, testPlan(t, 1))
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "name another place") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", dir, err)
		}
	}
	if names, _ := os.ReadDir(tmp); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// asNobody runs one test of this binary without root's rights.
func asNobody(t *testing.T, name string) ([]byte, error) {
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("root may write everywhere, and this binary cannot be copied for another user: ", err)
	}
	dir, err := os.MkdirTemp("", "udsbench-test-") // not t.TempDir, which is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin := filepath.Join(dir, "journal.test")
	tmp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.WriteFile(bin, exe, 0o755), os.Chmod(dir, 0o755), os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run", "^"+name+"$", "-test.count=1")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.SysProcAttr = nobody()
	return cmd.CombinedOutput()
}

func TestDefaultNameIsNeverTakenTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	var names []string
	for range 3 {
		j := create(t, "")
		names = append(names, j.Dir()+" "+j.Session())
		j.Close()
	}
	want := "udsbench-20260301-101112 udsbench-20260301-101112," +
		"udsbench-20260301-101112-2 udsbench-20260301-101112-2," +
		"udsbench-20260301-101112-3 udsbench-20260301-101112-3"
	if got := strings.Join(names, ","); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOneWriterOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	j := create(t, dir)
	if _, err := Open(dir, nil, always); err == nil || !strings.Contains(err.Error(), "another udsbench is writing") {
		t.Errorf("a second writer: %v", err)
	}
	if err := j.Append(testRun(0)); err != nil {
		t.Fatal(err)
	}
	check(t, dir, 1) // reading goes on meanwhile
	j.Close()
	again, err := Open(dir, nil, always)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestOpenRefuses(t *testing.T) {
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "session")
	write(t, dir, 0)
	if err := os.Mkdir(filepath.Join(tmp, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	other := func(env json.RawMessage) error {
		if !bytes.Contains(env, []byte("6.12")) {
			t.Errorf("asked of %s", env)
		}
		return errors.New("it was begun on kernel 6.12, this is 6.13")
	}
	for _, c := range []struct {
		dir        string
		plan       *plan.Plan
		sameKernel func(json.RawMessage) error
		words      string
	}{
		{dir, testPlan(t, 6), always, "leave the other flags out"},
		{dir, nil, other, "it was begun on kernel 6.12"},
		{filepath.Join(tmp, "empty"), nil, always, "is no session"},
		{filepath.Join(tmp, "nowhere"), nil, always, "is no session"},
	} {
		_, err := Open(c.dir, c.plan, c.sameKernel)
		if err == nil || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "--resume "+c.dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.dir, err, c.words)
		}
	}
	j, err := Open(dir, testPlan(t, 5), always)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Append(testRun(0)); err == nil {
		t.Error("run 0 is kept twice")
	}
}

func TestRenamedSessionKeepsItsName(t *testing.T) {
	tmp := t.TempDir()
	write(t, filepath.Join(tmp, "first"), 0)
	if err := os.Rename(filepath.Join(tmp, "first"), filepath.Join(tmp, "second")); err != nil {
		t.Fatal(err)
	}
	j, err := Open(filepath.Join(tmp, "second"), nil, always)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if j.Session() != "first" {
		t.Errorf("the session's name became %s", j.Session())
	}
}

// The tests below run this binary again, as a writer that meets its end.
func TestMain(m *testing.M) {
	if dir := os.Getenv("JOURNAL_TEST_WRITER"); dir != "" {
		if err := writer(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writer appends runs until it is killed or cannot, saying each that is kept.
func writer(dir string) error {
	if n, err := strconv.ParseUint(os.Getenv("JOURNAL_TEST_FSIZE"), 10, 64); err == nil {
		// What a full disk does, for this process: a write that is cut short, and
		// then none at all.
		signal.Ignore(unix.SIGXFSZ)
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			return err
		}
		setLimit(&l, n)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			return err
		}
	}
	j, err := Open(dir, nil, always)
	if err != nil {
		return err
	}
	for seq := len(j.Earlier()); seq < 10_000; seq++ {
		if err := j.Append(testRun(seq)); err != nil {
			return err
		}
		fmt.Println(seq)
	}
	return nil
}

func start(t *testing.T, dir string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "JOURNAL_TEST_WRITER="+dir), env...)
	out := &bytes.Buffer{}
	cmd.Stdout = out
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func TestFullDiskKeepsWhatIsFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	create(t, dir).Close()
	cmd, out := start(t, dir, "JOURNAL_TEST_FSIZE=3000")
	if err := cmd.Wait(); err == nil {
		t.Fatalf("wrote beyond the limit:\n%s", out)
	}
	said := strings.Split(strings.TrimSpace(out.String()), "\n")
	kept := len(said) - 1
	if last := said[kept]; !strings.Contains(last, "the runs before are kept") {
		t.Fatalf("ends with %q", last)
	}
	if kept < 2 {
		t.Fatalf("only %d runs before the limit:\n%s", kept, out)
	}
	if s := check(t, dir, kept); len(s.Warnings) != 0 {
		t.Errorf("left torn: %v", s.Warnings)
	}
	// With room again, it goes on.
	j, err := Open(dir, nil, always)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Append(testRun(kept)); err != nil {
		t.Fatal(err)
	}
	check(t, dir, kept+1)
}

func TestKilledWriterLosesNothingThatItSaid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	create(t, dir).Close()
	kept := 0
	for range 10 {
		cmd, out := start(t, dir)
		time.Sleep(time.Duration(5+rand.IntN(60)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		s, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		said := kept + strings.Count(out.String(), "\n")
		if len(s.Runs) < said {
			t.Fatalf("said that %d runs are kept, %d are:\n%s", said, len(s.Runs), out)
		}
		kept = len(s.Runs)
		check(t, dir, kept)
	}
	if kept == 0 {
		t.Error("no writer lived long enough to write")
	}
}

func FuzzDecode(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "session")
	write(f, dir, 0, 1)
	text, err := os.ReadFile(filepath.Join(dir, RunsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-10])
	f.Add([]byte("\n"))
	f.Add([]byte("{}\n"))
	f.Add([]byte("{\"schema\":1}\n{\"sch"))
	f.Fuzz(func(t *testing.T, text []byte) {
		runs, end, err := decode("fuzz", text, func(r *record.Run) int { return r.Schema })
		if err != nil {
			return
		}
		if end > len(text) || end > 0 && text[end-1] != '\n' {
			t.Fatalf("whole lines end at %d of %q", end, text)
		}
		again, end2, err := decode("fuzz", text[:end], func(r *record.Run) int { return r.Schema })
		if err != nil || len(again) != len(runs) || end2 != end {
			t.Fatalf("cut at %d, %d runs are %d, %v", end, len(runs), len(again), err)
		}
	})
}
