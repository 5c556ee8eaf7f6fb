package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"udsbench/plan"
	"udsbench/record"
)

// Session is what a session directory holds.
type Session struct {
	Dir         string
	Environment json.RawMessage
	Plan        *plan.Plan
	Runs        []record.Run      // as they were run, without their workers
	Lost        []record.LostBoot // of a campaign
	Warnings    []string          // what a crash left behind
}

// Read reads the session in dir, finished or not, whether it is being written
// to or not. Workers are read apart, by ReadWorkers: they are many.
func Read(dir string) (*Session, error) {
	s := &Session{Dir: dir}
	var err error
	if s.Environment, err = os.ReadFile(filepath.Join(dir, EnvironmentFile)); err != nil {
		return nil, notSession(dir, EnvironmentFile, err)
	}
	if !json.Valid(s.Environment) {
		return nil, fmt.Errorf("%s: not JSON", filepath.Join(dir, EnvironmentFile))
	}
	text, err := os.ReadFile(filepath.Join(dir, PlanFile))
	if err != nil {
		return nil, notSession(dir, PlanFile, err)
	}
	if s.Plan, err = plan.Decode(text); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, PlanFile), err)
	}
	all, end, size, err := readRuns(dir)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.Lost != nil {
			s.Lost = append(s.Lost, *l.Lost)
		} else {
			s.Runs = append(s.Runs, *l.Run)
		}
	}
	if end < size {
		s.Warnings = append(s.Warnings, torn(RunsFile, size-end))
	}
	return s, nil
}

func torn(file string, n int) string {
	return fmt.Sprintf("the last line of %s is torn (%d bytes), as a crash leaves it: that run is lost, all before it are whole", file, n)
}

func notSession(dir, file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no session: it has no %s", dir, file)
	}
	return fmt.Errorf("%s: %w", filepath.Join(dir, file), cause(err))
}

// ReadWorkers gives each of runs its workers from the session in dir. It is an
// error if one has none.
func ReadWorkers(dir string, runs []record.Run) error {
	lines, _, _, err := readWorkers(dir)
	if err != nil {
		return err
	}
	bySeq := map[int][]record.Worker{}
	for _, l := range lines {
		bySeq[l.Seq] = l.Workers
	}
	for i := range runs {
		w, ok := bySeq[runs[i].Seq]
		if !ok {
			return fmt.Errorf("%s has no line for run %d", filepath.Join(dir, WorkersFile), runs[i].Seq)
		}
		runs[i].Workers = w
	}
	return nil
}
