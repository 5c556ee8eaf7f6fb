package main

import (
	"errors"
	"fmt"
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
			if v.Top < 0 {
				return fmt.Errorf("--top %d: must be 0 or more", v.Top)
			}
			tables, err := lockTables(args)
			if err != nil {
				return err
			}
			for _, t := range tables {
				for _, s := range t.Sides {
					if cpuSeconds > 0 && s.CPUSeconds == nil {
						s.CPUSeconds = &cpuSeconds
					}
				}
			}
			out := cmd.OutOrStdout()
			switch {
			case folded && len(tables) != 1:
				return fmt.Errorf("--folded takes one cell: this has %d", len(tables))
			case folded:
				v.Top = 0
				return locktable.WriteFolded(out, tables[0], v)
			case asJSON:
				return locktable.WriteJSON(out, tables, v)
			case asCSV:
				return locktable.WriteCSV(out, tables, v)
			}
			return locktable.Write(out, tables, v)
		},
	}
	f := c.Flags()
	f.IntVar(&v.Top, "top", 20, "rows of a table, 0 for all")
	f.StringVar(&v.Class, "class", "", "only one class: socket, scheduler, descriptors, memory, vfs, net, user, other")
	f.StringVar(&v.Per, "per", "", "count waits per wait at this site, where there are no operations to count by")
	f.Float64Var(&cpuSeconds, "cpu-seconds", 0, "of all CPUs in the window, where the input does not tell")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a cell")
	f.BoolVar(&asCSV, "csv", false, "print CSV, times in nanoseconds")
	f.BoolVar(&folded, "folded", false, "print folded stacks, as flame graph programs read them")
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
	var names []string
	var sessions [][]record.Run
	for _, dir := range args {
		s, err := journal.Read(dir)
		if err != nil {
			return nil, err
		}
		for _, w := range s.Warnings {
			fmt.Fprintf(os.Stderr, "udsbench: %s: %s\n", dir, w)
		}
		names = append(names, filepath.Base(filepath.Clean(dir)))
		sessions = append(sessions, s.Runs)
	}
	if len(names) == 2 && names[0] == names[1] {
		copy(names, args)
	}
	tables := locktable.Tables(names, sessions)
	if len(tables) == 0 {
		return nil, fmt.Errorf("%s: no run was instrumented for locks; measure with run --instrument locks", strings.Join(args, ", "))
	}
	return tables, nil
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
