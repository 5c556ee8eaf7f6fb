package runner

import (
	"context"
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
