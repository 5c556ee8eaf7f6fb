package runner

import (
	"errors"
	"sync/atomic"

	"udsbench/counters"
	"udsbench/record"
)

// counterInstrument counts events for each worker's thread.
type counterInstrument struct {
	*counters.Set
	absent map[string]string
}

func (r *run) counterSet() (instrument, error) {
	var threads []counters.Thread
	for i := range r.workers() {
		slot := r.memory.Slot(i)
		role, _ := r.role(i)
		if tid := atomic.LoadInt32(&slot.TID); tid > 0 {
			threads = append(threads, counters.Thread{TID: int(tid), Role: role, Ops: func() uint64 { return atomic.LoadUint64(&slot.Ops) }})
		}
	}
	if len(threads) == 0 {
		return nil, errors.New(goroutineWhy)
	}
	set, absent, err := counters.Start(threads)
	return counterInstrument{set, absent}, err
}

func (c counterInstrument) stop(rec *record.Run) error {
	sums, inst, err := c.Set.Stop()
	if err != nil {
		return err
	}
	for name, why := range c.absent {
		rec.Missing("counters."+name, why)
	}
	rec.Counters = sums
	rec.Instruments = append(rec.Instruments, inst)
	return nil
}
