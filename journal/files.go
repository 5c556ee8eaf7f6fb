package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"udsbench/record"
)

// The files of a session.
const (
	EnvironmentFile = "environment.json"
	PlanFile        = "plan.json"
	RunsFile        = "runs.jsonl"
	WorkersFile     = "workers.jsonl"
)

// cause gives the error under the path and the call that os puts around it:
// the messages here name the path themselves.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lines parts text into its lines and gives where the last whole one ends.
func lines(text []byte) (whole [][]byte, end int) {
	for {
		i := bytes.IndexByte(text[end:], '\n')
		if i < 0 {
			return whole, end
		}
		whole = append(whole, text[end:end+i])
		end += i + 1
	}
}

// decode reads the lines of a file. A last line that is not whole, or that
// cannot be read, is the trace of a crash: it is passed over, and end is where
// it begins (the length of text where there is none). Any other line that
// cannot be read is an error.
func decode[T any](path string, text []byte, schema func(*T) int) (items []T, end int, err error) {
	whole, last := lines(text)
	for i, l := range whole {
		var item T
		if err := json.Unmarshal(l, &item); err != nil {
			if i == len(whole)-1 && last == len(text) {
				return items, end, nil
			}
			return nil, 0, fmt.Errorf("%s: line %d is not a record: %v", path, i+1, err)
		}
		if s := schema(&item); s < 1 || s > record.Schema {
			return nil, 0, fmt.Errorf("%s: line %d has schema %d: this version reads up to %d", path, i+1, s, record.Schema)
		}
		items = append(items, item)
		end += len(l) + 1
	}
	return items, end, nil
}

// readRuns gives what runs.jsonl holds, where its last whole line ends, and how
// long it is.
func readRuns(dir string) (all []record.Line, end, size int, err error) {
	path := filepath.Join(dir, RunsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", path, cause(err))
	}
	all, end, err = decode(path, text, func(l *record.Line) int { return l.Schema })
	return all, end, len(text), err
}

func readWorkers(dir string) (workers []record.Workers, end, size int, err error) {
	path := filepath.Join(dir, WorkersFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", path, cause(err))
	}
	workers, end, err = decode(path, text, func(w *record.Workers) int { return w.Schema })
	return workers, end, len(text), err
}
