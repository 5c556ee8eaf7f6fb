package main

import (
	"fmt"
	"strings"

	"udsbench/lockwait"
	"udsbench/plan"
	"udsbench/runner"
)

// watched is what the runner is told of the value of --instrument.
func watched(i plan.Instrument) *runner.Instrument {
	return &runner.Instrument{
		Locks: i.Has("locks"), Sched: i.Has("sched"), Counters: i.Has("counters"),
		LockOptions: lockwait.Options{Source: i.Source, NoStacks: i.NoStacks, Depth: i.Depth, Contested: i.Contested},
		SleepStacks: i.Stacks,
	}
}

// checkInstrument refuses what this system's lock sources cannot do. With probe
// a source that is asked for by name must be available as well: without one, a
// run takes the next best.
func checkInstrument(value string, probe bool) error {
	if value == "" {
		return nil
	}
	i, err := plan.ParseInstrument(value)
	if err != nil || !i.Has("locks") {
		return err
	}
	o := watched(i).LockOptions
	if err = lockwait.Check(o); err == nil && probe && o.Source != "" {
		_, _, err = lockwait.Choose(o)
	}
	if err != nil {
		return &plan.UsageError{Flag: "instrument", Value: value, Why: err.Error()}
	}
	return nil
}

// instruments says what --instrument takes.
func instruments() [][2]string {
	return [][2]string{
		{"locks", "where workers waited on kernel locks: function, number of locks, how often and long"},
		{"locks+nostacks", "cheaper: by system call, not by function"},
		{"locks+depth=N", fmt.Sprintf("frames of a stack, %d to %d", plan.MinDepth, plan.MaxDepth)},
		{"locks+contested", "cheaper, with lockprof: only acquisitions that found the lock taken"},
		{"locks+source=NAME", "one of " + strings.Join(lockwait.Names(), ", ") + " here; else the first of them that is available"},
		{"sched", "where each worker's time went, and what it slept for"},
		{"sched+stacks", "by function, not by system call; costs more"},
		{"counters", "hardware and software events of each worker"},
		{"all", "all of these at once, with any of their options"},
	}
}
