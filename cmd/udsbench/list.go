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
	"udsbench/plan"
	"udsbench/profile"
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
	Operation  string            `json:"operation"`
	Targets    []string          `json:"targets"`
	Nulls      []string          `json:"nulls"`
	Params     []pingpong.Param  `json:"params"`
	Transports []string          `json:"transports"`
	Without    map[string]string `json:"without,omitempty"`
	NoModel    map[string]string `json:"no_model,omitempty"`
	NoServer   map[string]string `json:"no_server_model,omitempty"`
	Only       string            `json:"only,omitempty"`
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
		params := w.Params
		if params == nil {
			params = []pingpong.Param{}
		}
		all = append(all, listing{Name: w.Name, Isolates: w.Isolates, Twin: w.Twin, Expect: w.Expect, Stop: w.Stop,
			Operation: w.Operation.String(), Targets: orNone(w.Targets), Nulls: orNone(w.Nulls), Params: params,
			Transports: w.Transports, Without: w.NoTransport, NoModel: w.NoModel, NoServer: w.NoServerModel, Only: w.Only})
	}
	return all
}

// flagOf is how a parameter is given on the command line.
func flagOf(name string) string {
	if slices.Contains(plan.ParamFlags, name) {
		return name
	}
	return "param " + name
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
		row("operation", l.Operation)
		row("stop", l.Stop)
		if l.Only != "" {
			row("only on", l.Only)
		}
		row("target for", strings.Join(l.Targets, ", "))
		row("null for", strings.Join(l.Nulls, ", "))
		for _, p := range l.Params {
			text := p.Takes()
			if p.Default != "" {
				text += " [" + p.Default + "]"
			}
			row("--"+flagOf(p.Name), text+": "+p.Help)
		}
		row("transports", strings.Join(l.Transports, ", "))
		for _, t := range pingpong.Transports {
			if why := l.Without[t]; why != "" {
				row("not "+t, why)
			}
		}
		for _, m := range pingpong.Models {
			if why := l.NoModel[m]; why != "" {
				row("not --model "+m, why)
			}
			if why := l.NoServer[m]; why != "" {
				row("not --server-model "+m, why)
			}
		}
		w.Flush()
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "profiles (--workload profile:NAME, or profile:PATH)")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, name := range profile.Names() {
		p, err := profile.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s\t%s\n", name, p.Description)
	}
	w.Flush()
	fmt.Fprintln(out, "\ntransports and their addresses")
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
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
	listInstruments(out)
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
