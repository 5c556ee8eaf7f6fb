package runner

import (
	"errors"

	"udsbench/record"
	"udsbench/sched"
)

// causes counts the machine's context switches by cause, where the kernel
// does: two readings, before the window and after.
type causes struct {
	before, after map[string]int64
}

// switchCauses adds the causes to what looks at the run. On a system that
// never counts them nothing is missing.
func (r *run) switchCauses() {
	if _, err := sched.LiveStats(); !errors.Is(err, errors.ErrUnsupported) {
		r.looking("switch_causes", &causes{}, err)
	}
}

func (c *causes) Open() (err error) {
	c.before, err = sched.LiveStats()
	return err
}

func (c *causes) Close() (err error) {
	c.after, err = sched.LiveStats()
	return err
}

func (c *causes) stop(rec *record.Run) error {
	if c.after != nil {
		rec.SwitchCauses = sched.Since(c.before, c.after)
	}
	return nil
}
