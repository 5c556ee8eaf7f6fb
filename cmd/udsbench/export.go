package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"udsbench/compare"
	"udsbench/exporter"
	"udsbench/importer"
	"udsbench/record"
	"udsbench/series"
)

func exportCommand() *cobra.Command {
	var in importFlags
	var to, metric string
	var where []string
	c := &cobra.Command{
		Use:   "export SESSION…",
		Short: "Sessions for benchstat (Go benchmark format), ministat (columns), or as CSV",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := series.MetricOf(metric)
			if err != nil {
				return fmt.Errorf("--metric: %w", err)
			}
			only, err := fieldValues("where", where)
			if err != nil {
				return err
			}
			o, err := in.options()
			if err != nil {
				return err
			}
			var runs []record.Run
			for _, a := range args {
				sets, err := importer.Open(a, o)
				if err != nil {
					return err
				}
				for _, s := range sets {
					runs = append(runs, s.Runs...)
				}
			}
			if runs, err = compare.Where(runs, only); err != nil {
				return err
			}
			without := 0
			switch w := cmd.OutOrStdout(); to {
			case "gobench":
				without, err = exporter.GoBench(w, runs)
			case "ministat":
				var uneven bool
				without, uneven, err = exporter.Columns(w, runs, m)
				if uneven {
					fmt.Fprintln(cmd.ErrOrStderr(), "cells have different numbers of runs, and those with more are the first columns: compare only columns that are named alike, or take one cell with --where")
				}
			case "csv":
				err = exporter.CSV(w, runs)
			default:
				return fmt.Errorf("--to %s: there are %s", to, strings.Join(exportFormats, ", "))
			}
			if without > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d runs are not in it: failed, instrumented, or without the figure\n", without, len(runs))
			}
			return err
		},
	}
	c.Flags().StringVar(&to, "to", "gobench", "format: "+strings.Join(exportFormats, ", "))
	c.Flags().StringVar(&metric, "metric", series.Throughput.Name, "figure in ministat's columns")
	c.Flags().StringArrayVar(&where, "where", nil, "only cells with FIELD=VALUE or FIELD=V1,V2")
	in.register(c.Flags())
	return c
}

var exportFormats = []string{"gobench", "ministat", "csv"}
