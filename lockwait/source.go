package lockwait

import (
	"fmt"
	"strings"

	"udsbench/record"
)

// Row is one row of the lock table.
type Row = record.Lock

// Target is whom to watch: processes that exist already, with all of their
// threads. They start no further processes.
type Target struct {
	PIDs []int
	PGID int // their process group, 0 where unknown
}

// Source is one means of seeing lock waits.
//
// The calls come in this order: Probe; Start when the workers are ready; Open
// and Close as the window opens and closes; Stop once, which also closes. Start
// may take a second. Open and Close are quick.
type Source interface {
	Name() string
	// Probe is nil where the source is available; else the error says why
	// not and what would make it so.
	Probe() error
	Start(Target) error
	Open() error
	Close() error
	// Stop ends the watching and gives the rows, by summed wait, greatest
	// first. No rows are "not observed".
	Stop() ([]Row, error)
	// Blind says what the source cannot see on this kernel, a sentence each.
	Blind() []string
	// Instrument describes the watching; complete after Stop.
	Instrument() record.Instrument
}

// Options choose a source and what it takes along.
type Options struct {
	Source   string // by name; empty: the best that is available
	NoStacks bool   // cheap: sites are system calls, not functions
	Depth    int    // frames of a stack, 1 to 127; 0: the source's own
}

// Choose gives the best source that is available here and, by name, why better
// ones are not. With o.Source only that one is tried.
func Choose(o Options) (Source, map[string]string, error) {
	refused := map[string]string{}
	all := sources(o)
	if o.Source != "" {
		var names []string
		for _, s := range all {
			if s.Name() == o.Source {
				if err := s.Probe(); err != nil {
					return nil, nil, fmt.Errorf("lock source %s is not available: %w", o.Source, err)
				}
				return s, refused, nil
			}
			names = append(names, s.Name())
		}
		return nil, nil, fmt.Errorf("lock source %q: this system has %s", o.Source, strings.Join(names, ", "))
	}
	for _, s := range all {
		err := s.Probe()
		if err == nil {
			return s, refused, nil
		}
		refused[s.Name()] = err.Error()
	}
	var why []string
	for _, s := range all {
		why = append(why, s.Name()+": "+refused[s.Name()])
	}
	return nil, refused, fmt.Errorf("no lock source is available: %s", strings.Join(why, "; "))
}

// bouncing is what no source that counts waits can see.
const bouncing = "cache lines bounced by reader locks and reference counts: they block nobody and show in no count of waits, only in how throughput scales"
