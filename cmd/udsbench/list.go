package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"udsbench/pingpong"
	"udsbench/plan"
	"udsbench/profile"
	"udsbench/suite"
	"udsbench/topology"
)

// listing is what `list --json` prints for one workload.
type listing struct {
	Kind         string              `json:"kind"` // "workload"
	Name         string              `json:"name"`
	Isolates     string              `json:"isolates"`
	Twin         string              `json:"twin"`
	Twins        []pingpong.Twin     `json:"twins"`
	Expect       string              `json:"expect"`
	Stop         string              `json:"stop"`
	Operation    string              `json:"operation"`
	LatencyOf    string              `json:"latency_of"`
	Targets      []string            `json:"targets"`
	Nulls        []string            `json:"nulls"`
	Params       []param             `json:"params"`
	Transports   []string            `json:"transports"`
	Addresses    map[string][]string `json:"addresses"` // by transport, the default first
	Models       []string            `json:"models"`
	ServerModels []string            `json:"server_models"` // none: it has no servers
	Without      map[string]string   `json:"without,omitempty"`
	NoModel      map[string]string   `json:"no_model,omitempty"`
	NoServer     map[string]string   `json:"no_server_model,omitempty"`
	Only         string              `json:"only,omitempty"`
	Here         bool                `json:"here"` // this system has it
}

// param is a parameter as `list --json` prints it.
type param struct {
	pingpong.Param
	Flag string `json:"flag"`          // how it is given
	Min  *int   `json:"min,omitempty"` // of the range of numbers that it takes, if it takes one
	Max  *int   `json:"max,omitempty"`
}

// named is whatever else `list --json` prints: a kind, a name, and what it is.
type named struct {
	Kind        string   `json:"kind"` // "profile", "transport", "model", "placement", "instrument", "suite"
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Addresses   []string `json:"addresses,omitempty"` // of a transport
	Params      []param  `json:"params,omitempty"`    // of a profile
}

func listCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Workloads, transports, placements, suites",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			others, err := others()
			if err != nil {
				return err
			}
			if !asJSON {
				list(out, others, terminalWidth(textWidth))
				return nil
			}
			enc := json.NewEncoder(out)
			enc.SetEscapeHTML(false)
			for _, l := range listings() {
				if err := enc.Encode(l); err != nil {
					return err
				}
			}
			for _, n := range others {
				if err := enc.Encode(n); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each workload, profile, transport, model, placement, instrument and suite")
	return c
}

func listings() []listing {
	var all []listing
	for _, name := range pingpong.Names() {
		w, _ := pingpong.Lookup(name)
		l := listing{Kind: "workload", Name: w.Name, Isolates: w.Isolates, Twin: w.Twin, Twins: w.Twins(), Expect: w.Expect, Stop: w.Stop,
			Operation: w.Operation.String(), LatencyOf: w.LatencyOf(""), Targets: orNone(w.Targets), Nulls: orNone(w.Nulls), Params: params(w),
			Transports: w.Transports, Addresses: map[string][]string{}, Without: w.NoTransport, NoModel: w.NoModel, NoServer: w.NoServerModel,
			Only: w.Only, Here: w.Here()}
		for _, t := range w.Transports {
			l.Addresses[t] = w.AddressesOver(t)
		}
		l.Models, l.ServerModels = w.ModelsOf()
		all = append(all, l)
	}
	return all
}

func params(w *pingpong.Workload) []param {
	ps := []param{}
	for _, p := range w.Params {
		x := param{Param: p, Flag: "--" + flagOf(p.Name)}
		if p.Max != 0 {
			x.Min, x.Max = &p.Min, &p.Max
		}
		ps = append(ps, x)
	}
	return ps
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

// others lists what is not a workload, in the order in which it is printed.
func others() ([]named, error) {
	var all []named
	for _, name := range profile.Names() {
		w, err := pingpong.Lookup(pingpong.ProfilePrefix + name)
		if err != nil {
			return nil, err
		}
		p, err := profile.Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, named{Kind: "profile", Name: name, Description: p.Description, Params: params(w)})
	}
	for _, t := range pingpong.Transports {
		all = append(all, named{Kind: "transport", Name: t, Addresses: pingpong.Addresses(t)})
	}
	for _, m := range pingpong.Models {
		all = append(all, named{Kind: "model", Name: m, Description: pingpong.ModelHelp[m]})
	}
	for _, p := range topology.Placements() {
		all = append(all, named{Kind: "placement", Name: p[0], Description: p[1]})
	}
	for _, i := range instruments() {
		all = append(all, named{Kind: "instrument", Name: i[0], Description: i[1]})
	}
	names := suite.Names()
	slices.Sort(names)
	for _, name := range names {
		s, err := suite.Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, named{Kind: "suite", Name: name, Description: s.Description})
	}
	return all, nil
}

// paramText says what a parameter takes, what it is where it is not given, and
// what it does.
func paramText(p pingpong.Param) string {
	text := p.Takes()
	if usual := p.WhereNotGiven(); usual != "" {
		text = strings.TrimSpace(text + " [" + usual + "]")
	}
	return text + ": " + p.Help
}

func list(out io.Writer, others []named, width int) {
	for _, l := range listings() {
		fmt.Fprintln(out, l.Name)
		var r rows
		r.add("isolates", l.Isolates)
		r.add("twin", l.Twin)
		r.add("expect", l.Expect)
		r.add("operation", l.Operation)
		r.add("latency", "of "+l.LatencyOf)
		r.add("stop", l.Stop)
		r.add("only on", l.Only)
		r.add("target for", strings.Join(l.Targets, ", "))
		r.add("null for", strings.Join(l.Nulls, ", "))
		for _, p := range l.Params {
			r.add(p.Flag, paramText(p.Param))
		}
		r.add("transports", strings.Join(l.Transports, ", "))
		for _, t := range pingpong.Transports {
			r.add("not "+t, l.Without[t])
		}
		for _, m := range pingpong.Models {
			r.add("not --model "+m, l.NoModel[m])
			r.add("not --server-model "+m, l.NoServer[m])
		}
		r.write(out, width)
		fmt.Fprintln(out)
	}
	heads := map[string]string{
		"profile":    "profiles (--workload profile:NAME, or profile:PATH)",
		"transport":  "transports and their addresses",
		"model":      "models",
		"placement":  "placements",
		"instrument": "instruments (--instrument NAME, options joined by +)",
		"suite":      "suites",
	}
	for i := 0; i < len(others); {
		kind := others[i].Kind
		fmt.Fprintln(out, heads[kind])
		var r rows
		var shared []param
		for ; i < len(others) && others[i].Kind == kind; i++ {
			n := others[i]
			r.add(n.Name, n.Description+strings.Join(n.Addresses, ", "))
			shared = n.Params
		}
		for _, p := range shared { // profiles have the same
			if p.Name != "profile" {
				p.Default, p.DefaultOver = "", nil // which differ
				r.add(p.Flag, strings.TrimPrefix(paramText(p.Param), ": "))
			}
		}
		r.write(out, width)
		if i < len(others) {
			fmt.Fprintln(out)
		}
	}
}
