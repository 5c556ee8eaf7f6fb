package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"udsbench/plan"
	"udsbench/record"
)

// Journal is a session that is being written. One goroutine at a time may use
// it.
type Journal struct {
	dir      string
	session  string
	plan     *plan.Plan
	earlier  []record.Run
	done     map[int]bool
	warnings []string

	runs    *appender // its file also holds the lock
	workers *appender
}

// Create makes the session directory dir and writes env (as JSON) and p into
// it. dir must not be there yet, or be empty; where it is "",
// udsbench-YYYYMMDD-HHMMSS of now in the working directory is taken, with a
// number behind it if that name is taken. Whatever prevents writing is an error
// here, before anything is measured.
func Create(dir string, now time.Time, env any, p *plan.Plan) (*Journal, error) {
	text, err := json.MarshalIndent(env, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvironmentFile, err)
	}
	planText, err := p.Encode()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PlanFile, err)
	}
	dir, made, err := makeDir(dir, now)
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, plan: p, done: map[int]bool{}}
	if err := j.create(append(text, '\n'), planText); err != nil {
		j.discard(made)
		return nil, fmt.Errorf("cannot write the session to %s: %w: name another place with --out", dir, cause(err))
	}
	return j, nil
}

// Write makes a whole session of runs that are there already, as results of
// another program, and gives its directory: dir, or what Create would take. As
// with Create nothing is overwritten; after an error nothing is left.
func Write(dir string, now time.Time, env any, p *plan.Plan, runs []record.Run, lost []record.LostBoot) (string, error) {
	j, err := Create(dir, now, env, p)
	if err != nil {
		return "", err
	}
	if err := j.fill(runs, lost); err != nil {
		j.discard(true)
		return "", err
	}
	return j.dir, j.Close()
}

// fill appends everything at once: a crash costs no measurement here.
func (j *Journal) fill(runs []record.Run, lost []record.LostBoot) error {
	var lines, workers []any
	for i := range runs {
		r := runs[i]
		r.Session = j.session
		workers = append(workers, workersOf(&r))
		r.Workers = nil
		lines = append(lines, r)
	}
	for i := range lost {
		lines = append(lines, record.Line{Schema: record.Schema, Lost: &lost[i]})
	}
	if err := j.workers.append(workers...); err != nil {
		return err
	}
	return j.runs.append(lines...)
}

// makeDir makes dir, or the first free default name. made is false where dir
// was there and is empty.
func makeDir(dir string, now time.Time) (_ string, made bool, err error) {
	if dir == "" {
		base := now.Format("udsbench-20060102-150405")
		for n := 1; ; n++ {
			dir = base
			if n > 1 {
				dir += "-" + strconv.Itoa(n)
			}
			if err := os.Mkdir(dir, 0o777); err == nil {
				return dir, true, nil
			} else if !errors.Is(err, fs.ErrExist) || n == 1000 {
				return "", false, fmt.Errorf("cannot make the session directory %s here: %w: name another place with --out", dir, cause(err))
			}
		}
	}
	if err = os.MkdirAll(filepath.Dir(dir), 0o777); err == nil {
		err = os.Mkdir(dir, 0o777)
	}
	if err == nil {
		return dir, true, nil
	}
	if errors.Is(err, fs.ErrExist) {
		var names []os.DirEntry
		if names, err = os.ReadDir(dir); err == nil && len(names) == 0 {
			return dir, false, nil
		}
		if err == nil {
			return "", false, fmt.Errorf("--out %s: has files in it, and nothing is overwritten: name a new directory, or carry on with --resume", dir)
		}
	}
	return "", false, fmt.Errorf("--out %s: cannot make the session directory: %w: name another place", dir, cause(err))
}

func (j *Journal) create(env, planText []byte) (err error) {
	if j.session, err = name(j.dir); err != nil {
		return err
	}
	if j.runs, err = openAppender(j.dir, RunsFile, os.O_CREATE|os.O_EXCL); err != nil {
		return err
	}
	if err := lock(j.runs.file); err != nil {
		return err
	}
	if j.workers, err = openAppender(j.dir, WorkersFile, os.O_CREATE|os.O_EXCL); err != nil {
		return err
	}
	// The plan comes last: a directory with a plan in it is a whole session.
	// renameio syncs a file before it renames it into place.
	here := renameio.WithTempDir(j.dir)
	if err := renameio.WriteFile(filepath.Join(j.dir, EnvironmentFile), env, 0o666, here); err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(j.dir, PlanFile), planText, 0o666, here); err != nil {
		return err
	}
	if err := syncDir(j.dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(j.dir))
}

// discard takes away what create has made; made says whether the directory is
// ours too.
func (j *Journal) discard(made bool) {
	j.Close()
	if j.runs != nil { // else it is another's session by now
		for _, f := range []string{PlanFile, EnvironmentFile, WorkersFile, RunsFile} {
			_ = os.Remove(filepath.Join(j.dir, f))
		}
	}
	if made {
		_ = os.Remove(j.dir)
	}
}

// Open carries on with the session in dir. want is the plan that the command
// line gives now, nil where it gives none: its hash must be that of the
// session's. sameKernel is given the session's environment.json and says why
// it cannot be carried on with here, nil where it can; another boot of the same
// kernel is no reason, since each record names its boot. What a crash left
// behind is cut off, and said in Warnings.
func Open(dir string, want *plan.Plan, sameKernel func(environment json.RawMessage) error) (*Journal, error) {
	j := &Journal{dir: dir, done: map[int]bool{}}
	if err := j.open(want, sameKernel); err != nil {
		j.Close()
		return nil, fmt.Errorf("--resume %s: %w", dir, err)
	}
	return j, nil
}

func (j *Journal) open(want *plan.Plan, sameKernel func(json.RawMessage) error) (err error) {
	// Locked before it is read: another writer's line in flight looks torn.
	if j.runs, err = openAppender(j.dir, RunsFile, 0); err != nil {
		return notSession(j.dir, RunsFile, err)
	}
	if err := lock(j.runs.file); err != nil {
		return err
	}
	if j.workers, err = openAppender(j.dir, WorkersFile, 0); err != nil {
		return notSession(j.dir, WorkersFile, err)
	}
	s, err := Read(j.dir)
	if err != nil {
		return err
	}
	j.plan, j.earlier, j.warnings = s.Plan, s.Runs, s.Warnings
	if s.Plan.Import {
		return errors.New("it was imported: there is nothing to carry on with")
	}
	if want != nil && want.Hash != s.Plan.Hash {
		return fmt.Errorf("its plan %.12s is not the one asked for now, %.12s: leave the other flags out, or start a new session", s.Plan.Hash, want.Hash)
	}
	if err := sameKernel(s.Environment); err != nil {
		return err
	}
	if j.session, err = name(j.dir); err != nil {
		return err
	}
	for _, r := range s.Runs {
		if j.done[r.Seq] {
			return fmt.Errorf("%s holds run %d twice: it was edited, and is not carried on with", RunsFile, r.Seq)
		}
		j.done[r.Seq] = true
		j.session = r.Session // the directory may have been renamed
	}
	_, runsEnd, _, err := readRuns(j.dir)
	if err != nil {
		return err
	}
	workersEnd, err := j.workersEnd()
	if err != nil {
		return err
	}
	// Nothing is cut before all of it has been read.
	if err := j.runs.cut(int64(runsEnd)); err != nil {
		return err
	}
	return j.workers.cut(int64(workersEnd))
}

// workersEnd gives where the workers of the last whole run end.
func (j *Journal) workersEnd() (int, error) {
	workers, end, size, err := readWorkers(j.dir)
	if err != nil {
		return 0, err
	}
	if end < size {
		j.warnings = append(j.warnings, torn(WorkersFile, size-end))
	}
	// Written, but the crash came before the line of their run: one line after a
	// crash, more where runs were taken away.
	text, err := os.ReadFile(filepath.Join(j.dir, WorkersFile))
	if err != nil {
		return 0, err
	}
	ls, _ := lines(text[:end])
	for n := len(workers); n > 0 && !j.done[workers[n-1].Seq]; n-- {
		end -= len(ls[n-1]) + 1
	}
	return end, nil
}

// name gives the session's name, its directory's.
func name(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	return filepath.Base(abs), err
}

// lock keeps other writers out until f is closed.
func lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case nil:
			return nil
		case unix.EWOULDBLOCK:
			return errors.New("another udsbench is writing to it: wait until it has ended")
		default:
			return fmt.Errorf("cannot be locked: %w", err)
		}
	}
}

// Dir gives the session's directory, as it was named.
func (j *Journal) Dir() string { return j.dir }

// Session gives the session's name: what its records carry.
func (j *Journal) Session() string { return j.session }

// Plan gives the session's plan.
func (j *Journal) Plan() *plan.Plan { return j.plan }

// Earlier gives the runs that were there when the session was opened.
func (j *Journal) Earlier() []record.Run { return j.earlier }

// Done says whether the run of that seq is kept, ok or failed.
func (j *Journal) Done(seq int) bool { return j.done[seq] }

// Warnings gives what opening found amiss and put right.
func (j *Journal) Warnings() []string { return j.warnings }

// Append keeps r, its workers in a file of their own, and returns when both
// are on the disk. r.Session is set. After an error nothing of r is kept, and
// everything before it is.
func (j *Journal) Append(r *record.Run) error {
	r.Session = j.session
	if j.done[r.Seq] {
		return fmt.Errorf("run %d is kept already", r.Seq)
	}
	bare := *r
	bare.Workers = nil
	before := j.workers.end
	if err := j.workers.append(workersOf(r)); err != nil {
		return err
	}
	if err := j.runs.append(bare); err != nil {
		// The workers alone do no harm: Open cuts them off if this cannot.
		_ = j.workers.cut(before)
		return err
	}
	j.done[r.Seq] = true
	return nil
}

func workersOf(r *record.Run) record.Workers {
	w := record.Workers{Schema: record.Schema, Session: r.Session, Seq: r.Seq, Workers: r.Workers}
	if w.Workers == nil {
		w.Workers = []record.Worker{}
	}
	return w
}

// Close lets go of the session. What was appended is on the disk already.
func (j *Journal) Close() error {
	var errs []error
	for _, a := range []*appender{j.runs, j.workers} {
		if a != nil {
			errs = append(errs, a.file.Close())
		}
	}
	return errors.Join(errs...)
}

// appender adds lines to a file.
type appender struct {
	path string
	file *os.File
	end  int64
}

func openAppender(dir, file string, flags int) (*appender, error) {
	path := filepath.Join(dir, file)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|flags, 0o666)
	if err != nil {
		return nil, err
	}
	return &appender{path: path, file: f}, nil
}

// append adds each of vs as one line, all by one write, and syncs them. After an
// error none is there.
func (a *appender) append(vs ...any) (err error) {
	var line []byte
	for _, v := range vs {
		one, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%s: %w", a.path, err)
		}
		line = append(append(line, one...), '\n')
	}
	// os.File writes a regular file by one write(2), and goes on only where the
	// kernel took a part, to learn why.
	if _, err = a.file.Write(line); err == nil {
		err = a.file.Sync()
	}
	if err == nil {
		a.end += int64(len(line))
		return nil
	}
	// What remains of it if even this fails is a torn line to every reader.
	_ = a.cut(a.end)
	return fmt.Errorf("%s: %w: the runs before are kept; make room, and carry on with --resume %s", a.path, cause(err), filepath.Dir(a.path))
}

// cut takes off what is after end, and goes on from there.
func (a *appender) cut(end int64) error {
	a.end = end
	info, err := a.file.Stat()
	if err != nil || info.Size() == end {
		return err
	}
	if err := a.file.Truncate(end); err != nil {
		return err
	}
	return a.file.Sync()
}
