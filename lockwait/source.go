package lockwait

import (
	"fmt"
	"slices"
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
	// Threads are the workers among a process's threads. What others wait for is
	// the Go runtime's and stands apart. A process that has none here works on
	// any of its threads (goroutines). nil: not known; all count as workers.
	Threads map[int][]int
}

// goroutines tells whether the workers of a process are goroutines.
func (t Target) goroutines(pid int) bool { return t.Threads != nil && len(t.Threads[pid]) == 0 }

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

	Contested bool // cheap, of lockprof: acquisitions that found the lock free are not profiled
}

// String writes the options as they stand behind locks in --instrument; ""
// where there are none.
func (o Options) String() string {
	var words []string
	if o.NoStacks {
		words = append(words, "nostacks")
	}
	if o.Depth > 0 {
		words = append(words, fmt.Sprintf("depth=%d", o.Depth))
	}
	if o.Contested {
		words = append(words, "contested")
	}
	if o.Source != "" {
		words = append(words, "source="+o.Source)
	}
	return strings.Join(words, "+")
}

// Names are this system's sources, the best first.
func Names() (names []string) {
	for _, s := range sources(Options{}) {
		names = append(names, s.Name())
	}
	return names
}

// Check refuses what no source of this system can do; whether a source is
// available is for Choose to tell.
func Check(o Options) error {
	if o.Source != "" && !slices.Contains(Names(), o.Source) {
		return fmt.Errorf("there is no lock source %q: this system has %s", o.Source, strings.Join(Names(), ", "))
	}
	for _, opt := range o.given() {
		switch takes := tunable[o.Source]; {
		case slices.Contains(takes, opt):
		case o.Source == "":
			return fmt.Errorf("no lock source of this system has an option %s", opt)
		case len(takes) == 0:
			return fmt.Errorf("lock source %s has no options: leave %s out", o.Source, opt)
		default:
			return fmt.Errorf("lock source %s has no option %s, but %s", o.Source, opt, strings.Join(takes, ", "))
		}
	}
	return nil
}

// given lists the options by name, without the source.
func (o Options) given() (names []string) {
	for _, opt := range []struct {
		name  string
		given bool
	}{{"nostacks", o.NoStacks}, {"depth", o.Depth > 0}, {"contested", o.Contested}} {
		if opt.given {
			names = append(names, opt.name)
		}
	}
	return names
}

// Unused lists the options that mean nothing to a source, as that which is the
// best available may have fewer than others.
func (o Options) Unused(source string) []string {
	return slices.DeleteFunc(o.given(), func(name string) bool { return slices.Contains(tunable[source], name) })
}

// Choose gives the best source that is available here and, by name, why better
// ones are not. With o.Source only that one is tried.
func Choose(o Options) (Source, map[string]string, error) {
	if err := Check(o); err != nil {
		return nil, nil, err
	}
	refused := map[string]string{}
	all := sources(o)
	if o.Source != "" {
		i := slices.IndexFunc(all, func(s Source) bool { return s.Name() == o.Source })
		if err := all[i].Probe(); err != nil {
			return nil, nil, fmt.Errorf("lock source %s is not available: %w", o.Source, err)
		}
		return all[i], refused, nil
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
