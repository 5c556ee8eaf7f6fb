package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"udsbench/importer"
	"udsbench/plan"
	"udsbench/record"
)

// importFlags say of other programs' results what their text does not. They
// are flags of every command that reads such results.
type importFlags struct {
	format string
	set    []string
	values []string
	maps   []string
	ignore []string
}

func (f *importFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.format, "format", "", "of files: "+strings.Join(importer.Formats(), ", ")+" (default: found out)")
	fs.StringArrayVar(&f.set, "set", nil, "FIELD=VALUE of every imported cell, as parallel=10 or kernel=patched")
	fs.StringSliceVar(&f.values, "value", nil, "CSV: columns that hold rates (default: those named like one)")
	fs.StringSliceVar(&f.maps, "map", nil, "CSV: COLUMN=FIELD")
	fs.StringSliceVar(&f.ignore, "ignore", nil, "CSV: columns to pass over")
}

func (f *importFlags) options() (importer.Options, error) {
	o := importer.Options{Format: f.format, Values: f.values, Ignore: f.ignore, Set: map[string]string{}, Map: map[string]string{}}
	for _, p := range []struct {
		flag  string
		texts []string
		to    map[string]string
	}{{"set", f.set, o.Set}, {"map", f.maps, o.Map}} {
		for _, t := range p.texts {
			name, value, ok := strings.Cut(t, "=")
			if !ok || name == "" {
				return o, fmt.Errorf("--%s %s: write NAME=VALUE", p.flag, t)
			}
			p.to[name] = value
		}
	}
	return o, nil
}

func importCommand() *cobra.Command {
	var f importFlags
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Results of super-smack, sysbench, ministat, Go benchmarks and CSV, as a session",
		Long: `Reads results of other programs and keeps them as a session, which compare and
export read as they read a measured one. (Both also read such files directly.)
With --json, records are printed on standard output instead, one JSON object a
run. "-" is standard input. Several files are told apart by the parameter file.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" && cmd.Flags().Changed("out") {
				return &plan.UsageError{Flag: "out", Why: "is given and empty: name a directory, or leave the flag out"}
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			sets, err := importAll(args, o)
			if err != nil {
				return err
			}
			for _, s := range sets {
				for _, n := range s.Notes {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", s.Name, n)
				}
			}
			if asJSON {
				if err := printRecords(cmd.OutOrStdout(), sets); err != nil || out == "" {
					return err
				}
			}
			dir, err := importer.Save(out, time.Now(), sets)
			if err != nil || asJSON {
				return err
			}
			for _, s := range sets {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs (%s)\n", s.Name, len(s.Runs), s.Format)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "session: %s\n", dir)
			return nil
		},
	}
	f.register(c.Flags())
	c.Flags().StringVarP(&out, "out", "o", "", "session directory (default udsbench-DATE-TIME, none with --json)")
	c.Flags().BoolVar(&asJSON, "json", false, "print each record as one JSON line on standard output")
	return c
}

func importAll(paths []string, o importer.Options) (all []importer.Set, err error) {
	for _, p := range paths {
		if p == "-" {
			s, err := importer.Read("stdin", os.Stdin, o)
			if err != nil {
				return nil, err
			}
			all = append(all, *s)
			continue
		}
		sets, err := importer.Open(p, o)
		if err != nil {
			return nil, err
		}
		all = append(all, sets...)
	}
	importer.Name(all)
	return all, nil
}

func printRecords(w io.Writer, sets []importer.Set) error {
	enc := json.NewEncoder(w)
	for _, s := range sets {
		for i := range s.Lost {
			if err := enc.Encode(record.Line{Schema: record.Schema, Lost: &s.Lost[i]}); err != nil {
				return err
			}
		}
		for i := range s.Runs {
			r := &s.Runs[i]
			// What the text said of its figures stays with each of them.
			for _, n := range s.Notes {
				if s.Format != "records" && !slices.Contains(r.Warnings, n) {
					r.Warnings = append(r.Warnings, n)
				}
			}
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
	}
	return nil
}
