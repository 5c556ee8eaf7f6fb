package runner

import (
	"fmt"
	"strings"

	"udsbench/lockwait"
	"udsbench/offcpu"
	"udsbench/record"
)

// instrument is what looks at an instrumented run. Start is called when the
// workers are ready, Open and Close as the window opens and closes.
type instrument interface {
	Open() error
	Close() error
	stop(*record.Run) error // fills the record
}

// Instrument is what looks at an instrumented run.
type Instrument struct {
	Locks, Sched, Counters bool

	LockOptions lockwait.Options
	SleepStacks bool // sites of sleeps are functions, at twice the price
}

// instruments starts what the options ask for. What cannot run here is absent
// from the record, with the reason and what would grant it.
func (r *run) instruments() {
	i := r.opt.Instrument
	if i == nil {
		return
	}
	r.rec.Kind = record.Instrumented
	r.switchCauses()
	if i.Locks {
		l, err := r.lockSource(i.LockOptions)
		r.looking("locks", l, err)
	}
	if i.Sched {
		t, err := offcpu.Start(offcpu.Options{PIDs: r.pids(), Threads: r.threads(), Stacks: i.SleepStacks})
		r.looking("sched", schedInstrument{t, r.opt.Distance}, err)
	}
	if i.Counters {
		c, err := r.counterSet()
		r.looking("counters", c, err)
	}
}

func (r *run) looking(name string, i instrument, err error) {
	if err != nil {
		r.rec.Missing(name, err.Error())
		return
	}
	r.watching = append(r.watching, i)
}

func (r *run) lockSource(o lockwait.Options) (instrument, error) {
	s, refused, err := lockwait.Choose(o)
	if err != nil {
		return nil, err
	}
	if err := s.Start(lockwait.Target{PIDs: r.pids(), PGID: r.home.Group, Threads: r.threads()}); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	return lockInstrument{s, o, refused}, nil
}

// threads are the workers' threads by process. All are there: every worker is
// ready. A process of goroutines has none.
func (r *run) threads() map[int][]int {
	m := map[int][]int{}
	for i := range r.workers() {
		if slot := r.memory.Slot(i); slot.TID != 0 {
			m[int(slot.PID)] = append(m[int(slot.PID)], int(slot.TID))
		}
	}
	return m
}

type lockInstrument struct {
	lockwait.Source
	options lockwait.Options
	refused map[string]string
}

func (l lockInstrument) stop(rec *record.Run) error {
	rows, err := l.Source.Stop()
	if err != nil {
		return err
	}
	i := l.Instrument()
	i.Refused, i.Options = l.refused, l.options.String()
	for _, name := range l.options.Unused(i.Source) {
		i.Notes = append(i.Notes, name+" does not apply: source "+i.Source+" has no such option")
	}
	rec.Locks = rows
	rec.Instruments = append(rec.Instruments, i)
	return nil
}

type schedInstrument struct {
	*offcpu.Trace
	distance func(a, b int) string
}

func (t schedInstrument) stop(rec *record.Run) error {
	s, err := t.Trace.Stop()
	if err != nil {
		return err
	}
	if t.distance != nil {
		s.MovesByDistance, s.WakesByDistance = offcpu.ByDistance(s.Moves, t.distance), offcpu.ByDistance(s.Wakes, t.distance)
	}
	rec.Sched = s
	rec.Instruments = append(rec.Instruments, t.Instrument())
	return nil
}

// open and shut begin and end the instruments' own windows, just outside of
// the workers'.
func (r *run) open() error { return r.each(instrument.Open) }
func (r *run) shut() error { return r.each(instrument.Close) }

func (r *run) each(f func(instrument) error) error {
	for _, i := range r.watching {
		if err := f(i); err != nil {
			return failed("instrument: %v", err)
		}
	}
	return nil
}

// stopInstruments takes what was seen into the record. It is called whatever
// happened: an instrument that is not stopped stays in the kernel.
func (r *run) stopInstruments() error {
	var problems []string
	for _, i := range r.watching {
		if err := i.stop(r.rec); err != nil {
			problems = append(problems, err.Error())
		}
	}
	r.watching = nil
	if len(problems) > 0 {
		return failed("instrument: %s", strings.Join(problems, "; "))
	}
	return nil
}
