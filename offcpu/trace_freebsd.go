package offcpu

import (
	"errors"

	"udsbench/record"
)

// Trace watches processes at their context switches. FreeBSD has no means for
// it that needs no other program; see sched.Kinfo for what it tells of its threads.
type Trace struct{}

var errNoTrace = errors.New("FreeBSD tells of context switches only through DTrace (sched provider)")

// Probe says why a Trace cannot run here.
func Probe(Options) error { return errNoTrace }

// Start fails.
func Start(Options) (*Trace, error) { return nil, errNoTrace }

// Open fails.
func (*Trace) Open() error { return errNoTrace }

// Close fails.
func (*Trace) Close() error { return errNoTrace }

// Stop fails.
func (*Trace) Stop() (*record.Sched, error) { return nil, errNoTrace }

// Blind says what a trace could not see.
func (*Trace) Blind() []string { return []string{errNoTrace.Error()} }

// Instrument is empty.
func (*Trace) Instrument() record.Instrument { return record.Instrument{} }
