package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"udsbench/importer"
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
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Results of super-smack, sysbench, ministat, Go benchmarks and CSV, as records",
		Long: `Reads results of other programs and prints them as records, one JSON object a
run, which compare and export read. (Both also read such files directly.)
"-" is standard input.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if out == "" {
				return importAll(w, cmd, args, o)
			}
			t, err := renameio.NewPendingFile(out, renameio.WithPermissions(0o666))
			if err != nil {
				return fmt.Errorf("--out %s: %w", out, err)
			}
			defer t.Cleanup()
			if err := importAll(t, cmd, args, o); err != nil {
				return err
			}
			return t.CloseAtomicallyReplace()
		},
	}
	f.register(c.Flags())
	c.Flags().StringVarP(&out, "out", "o", "", "write to this file instead of standard output")
	c.Flags().Bool("json", true, "records are JSON always")
	return c
}

func importAll(w io.Writer, cmd *cobra.Command, paths []string, o importer.Options) error {
	enc := json.NewEncoder(w)
	for _, p := range paths {
		var sets []importer.Set
		var err error
		if p == "-" {
			var s *importer.Set
			if s, err = importer.Read("stdin", os.Stdin, o); err == nil {
				sets = []importer.Set{*s}
			}
		} else {
			sets, err = importer.Open(p, o)
		}
		if err != nil {
			return err
		}
		for _, s := range sets {
			for _, n := range s.Notes {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", s.Name, n)
			}
			for i := range s.Runs {
				// What the text said of its figures stays with each of them.
				for _, n := range s.Notes {
					if s.Format != "records" && !slices.Contains(s.Runs[i].Warnings, n) {
						s.Runs[i].Warnings = append(s.Runs[i].Warnings, n)
					}
				}
				if err := enc.Encode(&s.Runs[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
