package counters

import (
	"errors"

	"udsbench/record"
)

// Set is what counts for some threads.
type Set struct{}

var errNone = errors.New("FreeBSD counts events through hwpmc(4) and libpmc only: use pmcstat beside the run")

// Start fails.
func Start([]Thread) (*Set, map[string]string, error) { return nil, nil, errNone }

// Open fails.
func (*Set) Open() error { return errNone }

// Close fails.
func (*Set) Close() error { return errNone }

// Stop fails.
func (*Set) Stop() ([]record.Counters, record.Instrument, error) {
	return nil, record.Instrument{}, errNone
}
