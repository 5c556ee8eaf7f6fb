package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"udsbench/journal"
	"udsbench/locktable"
	"udsbench/record"
)

const locksLong = `Where the workers of a session's instrumented runs (run --instrument locks)
waited on locks: by function, caller and kind, with the number of distinct locks
(one: shared by all; many: one a socket), the greatest summed wait first. Two
sessions stand side by side, cell by cell.

A file of lock waits from MySQL's performance schema (columns server,
event_name, count_star, sum_timer_wait_ps) is read as well, a side for each
server.

What was not seen is "not observed" with what the source cannot see, never 0.`

func locksCommand() *cobra.Command {
	var v locktable.View
	var asJSON, asCSV, folded bool
	var cpuSeconds float64
	c := &cobra.Command{
		Use:   "locks SESSION [SESSION]",
		Short: "The lock table of a session, or of two side by side",
		Long:  locksLong,
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for name, value := range map[string]string{"class": v.Class, "per": v.Per} {
				if value == "" && cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s is given and empty: name one, or leave the flag out", name)
				}
			}
			if err := v.Check(); err != nil {
				return err
			}
			tables, err := lockTables(args)
			if err != nil {
				return err
			}
			if err := v.CheckPer(tables); err != nil {
				return err
			}
			if cmd.Flags().Changed("cpu-seconds") {
				if err := setCPUSeconds(tables, cpuSeconds); err != nil {
					return err
				}
			}
			out := cmd.OutOrStdout()
			switch {
			case folded:
				unit, err := locktable.FoldedUnit(tables)
				if err != nil {
					return err
				}
				if unit == "samples" {
					fmt.Fprintln(os.Stderr, "udsbench: this source samples: weights are samples, not times")
				}
				sayNotObserved(tables, v)
				return locktable.WriteFolded(out, tables, v)
			case asJSON:
				return locktable.WriteJSON(out, tables, v)
			case asCSV:
				sayNotObserved(tables, v)
				return locktable.WriteCSV(out, tables, v)
			}
			return locktable.Write(out, tables, v)
		},
	}
	f := c.Flags()
	f.IntVar(&v.Top, "top", 20, "rows of a table, 0 for all")
	f.StringVar(&v.Class, "class", "", "only one class: "+strings.Join(record.LockClasses, ", "))
	f.StringVar(&v.Per, "per", "", "count waits per wait at this site, not per operation")
	f.Float64Var(&cpuSeconds, "cpu-seconds", 0, "of all CPUs in the time of the waits, for input that does not tell")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a cell")
	f.BoolVar(&asCSV, "csv", false, "print CSV, times in nanoseconds")
	f.BoolVar(&folded, "folded", false, "print folded stacks, as flame graph programs read them, cell by cell")
	c.MarkFlagsMutuallyExclusive("json", "csv", "folded")
	return c
}

// lockTables reads sessions, or one table measured elsewhere.
func lockTables(args []string) ([]*locktable.Table, error) {
	if len(args) == 1 {
		if st, err := os.Stat(args[0]); err == nil && st.Mode().IsRegular() {
			return lockFile(args[0])
		}
	}
	var sessions []locktable.Session
	for _, dir := range args {
		s, err := journal.Read(dir)
		if err != nil {
			return nil, err
		}
		for _, w := range s.Warnings {
			fmt.Fprintf(os.Stderr, "udsbench: %s: %s\n", dir, w)
		}
		sessions = append(sessions, locktable.Session{Name: filepath.Base(filepath.Clean(dir)), Runs: s.Runs, Discard: s.Plan.Discard})
	}
	if len(sessions) == 2 && sessions[0].Name == sessions[1].Name {
		sessions[0].Name, sessions[1].Name = args[0], args[1]
	}
	return locktable.Tables(sessions)
}

// setCPUSeconds tells sides that do not know it how much CPU time there was.
func setCPUSeconds(tables []*locktable.Table, seconds float64) error {
	if !(seconds > 0) || math.IsInf(seconds, 0) {
		return fmt.Errorf("--cpu-seconds %v: give more than 0", seconds)
	}
	set := false
	for _, t := range tables {
		for _, s := range t.Sides {
			if s.CPUSeconds == nil && len(s.Rows) > 0 {
				s.CPUSeconds, set = &seconds, true
			}
		}
	}
	if !set {
		return fmt.Errorf("--cpu-seconds %v: the input tells the CPU time of its windows itself: leave the flag out", seconds)
	}
	return nil
}

// sayNotObserved says on standard error what a form for programs cannot: which
// cells have no row, and why that is not 0.
func sayNotObserved(tables []*locktable.Table, v locktable.View) {
	for _, t := range tables {
		if why := locktable.NotObserved(t, v); why != "" && t.Cell != nil {
			fmt.Fprintf(os.Stderr, "udsbench: %s: %s\n", locktable.Title(*t.Cell), why)
		}
	}
}

func lockFile(name string) ([]*locktable.Table, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !locktable.IsPFS(string(b)) {
		return nil, errors.New(name + " is neither a session directory nor a table of performance schema waits")
	}
	sides, err := locktable.ReadPFS(strings.NewReader(string(b)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []*locktable.Table{{Per: "op", Sides: sides}}, nil
}
