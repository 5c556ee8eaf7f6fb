package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"udsbench/pingpong"
	"udsbench/suite"
	"udsbench/topology"
)

// listing is what `list --json` prints for one workload.
type listing struct {
	Name       string            `json:"name"`
	Isolates   string            `json:"isolates"`
	Twin       string            `json:"twin"`
	Expect     string            `json:"expect"`
	Stop       string            `json:"stop"`
	Targets    []string          `json:"targets"`
	Nulls      []string          `json:"nulls"`
	Transports []string          `json:"transports"`
	Without    map[string]string `json:"without,omitempty"`
}

func listCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Workloads, transports, placements, suites",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if !asJSON {
				return list(out)
			}
			enc := json.NewEncoder(out)
			for _, l := range listings() {
				if err := enc.Encode(l); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a workload")
	return c
}

func listings() []listing {
	var all []listing
	for _, name := range pingpong.Names() {
		w, _ := pingpong.Lookup(name)
		all = append(all, listing{Name: w.Name, Isolates: w.Isolates, Twin: w.Twin, Expect: w.Expect, Stop: w.Stop,
			Targets: orNone(w.Targets), Nulls: orNone(w.Nulls), Transports: w.Transports, Without: w.NoTransport})
	}
	return all
}

func orNone(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func list(out io.Writer) error {
	for _, l := range listings() {
		fmt.Fprintf(out, "%s\n", l.Name)
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		row := func(name, text string) {
			if text != "" {
				fmt.Fprintf(w, "  %s\t%s\n", name, text)
			}
		}
		row("isolates", l.Isolates)
		row("twin", l.Twin)
		row("expect", l.Expect)
		row("stop", l.Stop)
		row("target for", strings.Join(l.Targets, ", "))
		row("null for", strings.Join(l.Nulls, ", "))
		row("transports", strings.Join(l.Transports, ", "))
		for _, t := range pingpong.Transports {
			if why := l.Without[t]; why != "" {
				row("not "+t, why)
			}
		}
		w.Flush()
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "transports and their addresses")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, t := range pingpong.Transports {
		fmt.Fprintf(w, "  %s\t%s\n", t, strings.Join(pingpong.Addresses(t), ", "))
	}
	w.Flush()
	fmt.Fprintln(out, "\nmodels\n  "+strings.Join(pingpong.Models, ", "))
	fmt.Fprintln(out, "\nplacements")
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, p := range topology.Placements() {
		fmt.Fprintf(w, "  %s\t%s\n", p[0], p[1])
	}
	w.Flush()
	fmt.Fprintln(out, "\nsuites")
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	names := suite.Names()
	slices.Sort(names)
	for _, name := range names {
		s, err := suite.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s\t%s\n", name, s.Description)
	}
	return w.Flush()
}
