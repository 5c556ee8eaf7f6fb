package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"udsbench/pingpong"
	"udsbench/record"
)

// Lane is a load that can be made to wait between two of its operations.
type Lane interface {
	Park()
	Unpark()
	Ops() uint64 // operations since it started
}

// Turn is one slice of one lane: its length and what was done in it.
type Turn struct {
	NS  int64
	Ops uint64
}

// Load is a cell's workers, started and parked.
type Load struct{ run *run }

// Start starts the cell's workers, lets them warm up, opens their window and
// parks them. Stop must be called, whatever happens.
func Start(ctx context.Context, cell record.Cell, opt Options) (*Load, error) {
	r, err := prepare(cell, opt)
	if err != nil {
		return nil, err
	}
	l := &Load{r}
	err = r.begin(ctx)
	if err == nil {
		err = r.above(func() error { return r.warmUp(ctx) })
	}
	if err != nil {
		_, oerr := r.outcome(r.close(err))
		if oerr == nil {
			oerr = r.rec.Error
		}
		return nil, oerr
	}
	l.Park()
	return l, nil
}

// Park makes the clients wait before their next operation.
func (l *Load) Park() { l.run.turn(pingpong.PhaseWindow | pingpong.Parked) }

// Unpark lets them go on.
func (l *Load) Unpark() { l.run.turn(pingpong.PhaseWindow) }

// Ops counts the operations of all workers whose operations count.
func (l *Load) Ops() (n uint64) {
	r := l.run
	for i := range r.workers() {
		if role, _ := r.role(i); role == r.workload.Counts() {
			n += atomic.LoadUint64(&r.memory.Slot(i).Ops)
		}
	}
	return n
}

// Workers says who the workers are.
func (l *Load) Workers() (all []record.Worker) {
	for i := range l.run.workers() {
		all = append(all, l.run.identity(i))
	}
	return all
}

// Trouble reports what has ended the load before its time, if anything has.
func (l *Load) Trouble(ctx context.Context) error { return l.run.trouble(ctx) }

// Stop ends the load by its own protocol and removes all traces of it.
func (l *Load) Stop(ctx context.Context) error {
	r := l.run
	err := r.above(func() error {
		r.turn(pingpong.PhaseCool)
		return r.stop(ctx)
	})
	if err == nil {
		r.turn(pingpong.PhaseLeft)
		err = r.await(ctx, pingpong.Done, r.workers(), "to end after the clients had left")
	}
	if err == nil {
		err = r.family.wait(ctx, r.patience())
	}
	return r.close(err)
}

// Finish ends the load as Stop does and returns the record of its turns.
func (l *Load) Finish(ctx context.Context, turns []Turn) (*record.Run, error) {
	r := l.run
	r.turns = turns
	return r.outcome(r.close(func() error {
		err := r.above(func() error {
			r.turn(pingpong.PhaseCool)
			if err := r.awaitClosed(ctx); err != nil {
				return err
			}
			return r.stop(ctx)
		})
		if err != nil {
			return err
		}
		if err := r.end(ctx); err != nil {
			return err
		}
		for i := range r.rec.Workers {
			w := &r.rec.Workers[i]
			w.WindowNS = 0
			w.Missing("window_ns", "the time between its snapshots holds the turns of others, while it was parked")
		}
		r.rec.Host = nil
		r.rec.CoordCPUNS = nil
		r.rec.Missing("host", "what the machine did cannot be told apart by whose turn it was")
		return nil
	}()))
}

// Paired measures cells against each other: the workers of all are alive
// together and take turns in slices of opt.Slice, as many rounds as fill
// opt.Window for each. cpus and spare are those of each cell. Where one fails,
// the set has no figures: all its records are failed.
func Paired(ctx context.Context, cells []record.Cell, opts []Options, factor string, levels []string) ([]*record.Run, error) {
	rounds := max(int(opts[0].Window/opts[0].Slice), 2)
	var loads []*Load
	var cause *record.Error
	fail := func(i int, err error) error {
		if err == nil || cause != nil {
			return nil
		}
		var e *record.Error
		if !errors.As(err, &e) {
			return err
		}
		cause = &record.Error{Worker: e.Worker, Role: e.Role, Op: e.Op, Errno: e.Errno, What: fmt.Sprintf("level %s: %s", levels[i], e.What)}
		return nil
	}
	var other error
	for i, c := range cells {
		l, err := Start(ctx, c, opts[i])
		if err != nil {
			other = fail(i, err)
			break
		}
		loads = append(loads, l)
	}
	var turns [][]Turn
	if cause == nil && other == nil {
		lanes := make([]Lane, len(loads))
		for i, l := range loads {
			lanes[i] = l
		}
		var err error
		if turns, err = Alternate(ctx, lanes, opts[0].Slice, rounds); err != nil {
			other = err
		}
	}
	runs := make([]*record.Run, len(cells))
	for i, l := range loads {
		var own []Turn
		for _, round := range turns {
			own = append(own, round[i])
		}
		rec, err := l.Finish(ctx, own)
		if err == nil && rec.Status == record.Failed {
			err = rec.Error
		}
		if e := fail(i, err); e != nil && other == nil {
			other = e
		}
		runs[i] = rec
	}
	if other != nil {
		return nil, other
	}
	for i := range runs {
		if cause != nil {
			runs[i] = NotRun(cells[i], cause)
			runs[i].Error = cause
		}
		runs[i].Paired = &record.Paired{Factor: factor, Level: levels[i], Levels: len(levels), Rounds: rounds}
	}
	return runs, nil
}

// Alternate lets two or more parked lanes take turns of the given length, for
// a number of rounds, and returns each round's turns in the order of lanes. In
// even rounds the lanes go first to last, in odd rounds last to first, so that
// a steady drift falls on all alike. It runs above the workers where it may.
func Alternate(ctx context.Context, lanes []Lane, slice time.Duration, rounds int) ([][]Turn, error) {
	turns := make([][]Turn, rounds)
	for i := range turns {
		turns[i] = make([]Turn, len(lanes))
	}
	err := onRaisedThread(func() error {
		for round := range turns {
			for i := range lanes {
				if round%2 == 1 {
					i = len(lanes) - 1 - i
				}
				if ctx.Err() != nil {
					return ErrInterrupted
				}
				turns[round][i] = take(lanes[i], slice)
				if l, ok := lanes[i].(*Load); ok {
					if err := l.Trouble(ctx); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	return turns, err
}

func take(l Lane, slice time.Duration) Turn {
	before := l.Ops()
	start := pingpong.Nanotime()
	l.Unpark()
	sleepUntil(start + int64(slice))
	l.Park()
	end := pingpong.Nanotime()
	return Turn{NS: end - start, Ops: l.Ops() - before}
}
