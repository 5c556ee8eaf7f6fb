package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"udsbench/journal"
	"udsbench/record"
)

// Set is what one session or one file held.
type Set struct {
	Name        string
	Format      string
	Runs        []record.Run
	Cells       []record.Cell     // of a session, in the order in which they were asked for
	Lost        []record.LostBoot // boots of a campaign
	Environment json.RawMessage   // nil where there is none
	Notes       []string          // what the text says of its figures, and what could not be read
}

// Options say what a text does not.
type Options struct {
	Format string            // one of Formats; "" finds out
	Set    map[string]string // fields of every run's cell, by flag name; others become parameters
	Values []string          // CSV: columns that hold rates; nil: those that are named like one
	Map    map[string]string // CSV: column ─▶ field
	Ignore []string          // CSV: columns that are neither
}

// format is one way of writing results down.
type format struct {
	name string
	is   func(text []byte) bool // looks like it
	read func(s *Set, text []byte, o Options) error
}

// formats in the order in which they are tried: each is told from those after it.
var formats = []format{
	{"records", isRecords, readRecords},
	{"super-smack", isSuperSmack, readSuperSmack},
	{"sysbench", isSysbench, readSysbench},
	{"gobench", isGoBench, readGoBench},
	{"ministat", isColumn, readColumn},
	{"csv", isCSV, readCSV},
}

// Formats gives the names of all formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// maxText bounds a file that is read whole.
const maxText = 256 << 20

// Read reads one text. It is an error if it holds no run.
func Read(name string, r io.Reader, o Options) (*Set, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("%s: is over %d MiB", name, maxText>>20)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	at := slices.IndexFunc(formats, func(f format) bool {
		if o.Format != "" {
			return f.name == o.Format
		}
		return f.is(text)
	})
	if at < 0 {
		if o.Format != "" {
			return nil, fmt.Errorf("--format %s: there are %s", o.Format, strings.Join(Formats(), ", "))
		}
		return nil, fmt.Errorf("%s: is in no format that is known (%s)", name, strings.Join(Formats(), ", "))
	}
	s := &Set{Name: name, Format: formats[at].name}
	if err := formats[at].read(s, text, o); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(s.Runs)+len(s.Lost) == 0 {
		return nil, fmt.Errorf("%s: holds no run (read as %s)", name, s.Format)
	}
	for i := range s.Runs {
		for field, value := range o.Set {
			if err := setField(&s.Runs[i].Cell, field, value); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// Open reads a session directory, a directory that holds some (as a campaign
// leaves them), or a file in any format.
func Open(path string, o Options) ([]Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	if !info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		defer f.Close()
		s, err := Read(filepath.Base(path), f, o)
		if err != nil {
			return nil, err
		}
		return []Set{*s}, nil
	}
	if _, err := os.Stat(filepath.Join(path, journal.RunsFile)); err == nil {
		s, err := session(path, o)
		if err == nil && len(s.Runs)+len(s.Lost) == 0 {
			err = fmt.Errorf("%s: no run was finished", path)
		}
		return []Set{s}, err
	}
	dirs, err := filepath.Glob(filepath.Join(path, "*", journal.RunsFile))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("%s is no session and holds none: a session has %s and %s", path, journal.EnvironmentFile, journal.RunsFile)
	}
	var all []Set
	for _, d := range dirs {
		s, err := session(filepath.Dir(d), o)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if !slices.ContainsFunc(all, func(s Set) bool { return len(s.Runs)+len(s.Lost) > 0 }) {
		return nil, fmt.Errorf("%s: no run was finished in any of its %d sessions", path, len(all))
	}
	return all, nil
}

func session(dir string, o Options) (Set, error) {
	j, err := journal.Read(dir)
	if err != nil {
		return Set{}, err
	}
	s := Set{Name: filepath.Base(filepath.Clean(dir)), Format: "records", Runs: j.Runs, Cells: j.Plan.Cells, Lost: j.Lost, Environment: j.Environment, Notes: j.Warnings}
	if j.Plan.Import {
		// Nothing is known of where it was measured, which is not to differ from
		// what is known of other sides.
		var env environment
		if err := json.Unmarshal(j.Environment, &env); err != nil {
			return Set{}, fmt.Errorf("%s: %w", filepath.Join(dir, journal.EnvironmentFile), err)
		}
		for _, from := range env.Imported {
			for _, n := range from.Notes {
				s.note(n)
			}
		}
		s.Environment = nil
	}
	switch n := len(s.Runs); {
	case n == 0:
		s.note(fmt.Sprintf("%s: no run was finished", dir))
	case n < j.Plan.Len():
		s.note(fmt.Sprintf("%s has %d of the %d runs of its plan: it was cut short, or goes on", dir, n, j.Plan.Len()))
	}
	for i := range s.Runs {
		for field, value := range o.Set {
			if err := setField(&s.Runs[i].Cell, field, value); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// add appends a run with the given rate, operations a second.
func (s *Set) add(c record.Cell, opsPerS float64) *record.Run {
	s.Runs = append(s.Runs, record.Run{Schema: record.Schema, Session: s.Name, Seq: len(s.Runs), Kind: record.Timed,
		Status: record.OK, Cell: c, OpsPerS: &opsPerS})
	r := &s.Runs[len(s.Runs)-1]
	r.Missing("boot", "imported from "+s.Format+" output, which names no boot")
	return r
}

// addFailed appends a run that failed.
func (s *Set) addFailed(c record.Cell, what string) {
	r := s.add(c, 0)
	r.OpsPerS, r.Status, r.Error = nil, record.Failed, &record.Error{Worker: -1, What: what}
}

func (s *Set) note(text string) {
	if text = strings.TrimSpace(text); text != "" && !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// comment gives what stands behind a leading #.
func comment(line string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	return strings.TrimSpace(rest), ok
}

func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
