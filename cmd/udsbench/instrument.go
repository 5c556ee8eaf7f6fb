package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

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

// listInstruments says what --instrument takes.
func listInstruments(out io.Writer) {
	fmt.Fprintln(out, "\ninstruments (--instrument NAME, options joined by +)")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, l := range [][2]string{
		{"locks", "where workers waited on kernel locks: function, number of locks, how often and long"},
		{"  +nostacks", "cheaper: by system call, not by function"},
		{"  +depth=N", fmt.Sprintf("frames of a stack, %d to %d", plan.MinDepth, plan.MaxDepth)},
		{"  +contested", "cheaper, with lockprof: only acquisitions that found the lock taken"},
		{"  +source=NAME", "one of " + strings.Join(lockwait.Names(), ", ") + " here; else the first of them that is available"},
		{"sched", "where each worker's time went, and what it slept for"},
		{"  +stacks", "by function, not by system call; costs more"},
		{"counters", "hardware and software events of each worker"},
		{"all", "all of these at once, with any of their options"},
	} {
		fmt.Fprintf(w, "  %s\t%s\n", l[0], l[1])
	}
	w.Flush()
}
