package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"udsbench/topology"
)

// topologyFlags are what `topology` is told.
type topologyFlags struct {
	from, machine    string
	placement        string
	parallel         int
	pairs, oneServer bool
	json             bool
}

func topologyCommand() *cobra.Command {
	f := &topologyFlags{}
	c := &cobra.Command{
		Use:   "topology",
		Short: "This machine, or another one, and where a placement puts workers",
		Long: `Shows the packages, NUMA nodes, caches, cores and threads of this machine, of a
recorded one (--from: a directory or tar.gz with its sys and proc, FreeBSD's
kern.sched.topology_spec or sysctl -a, or XML of lstopo), or of a described one
(--machine: a name, or hwloc's notation as "pack:4 core:2 pu:1"), and where a
placement would put --parallel clients and their servers.

Machines by name:
` + indented(topology.Models()) + `
Placements:
` + indented(topology.Placements()),
		Example: `  udsbench topology
  udsbench topology --machine opteron-4x2 --placement hop=2 --parallel 4
  udsbench topology --from recorded.tar.gz --placement opteron
  udsbench topology --machine "numa:1 pack:2 core:2 pu:2" --placement smt --parallel 100 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, value := range map[string]string{"from": f.from, "machine": f.machine, "placement": f.placement} {
				if value == "" && cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s is given and empty: name one, or leave the flag out", name)
				}
			}
			return f.run(cmd)
		},
	}
	c.Flags().StringVar(&f.from, "from", "", "a recorded machine: directory or file")
	c.Flags().StringVar(&f.machine, "machine", "", "a named or described machine")
	c.Flags().StringVar(&f.placement, "placement", "", "show where this placement puts workers")
	c.Flags().IntVar(&f.parallel, "parallel", 1, "clients, from 1")
	c.Flags().BoolVar(&f.pairs, "pairs", true, "a server for each client; with false, clients alone")
	c.Flags().BoolVar(&f.oneServer, "one-server", false, "one server worker for all clients")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return c
}

func indented(list [][2]string) string {
	var b strings.Builder
	for _, item := range list {
		fmt.Fprintf(&b, "  %-24s %s\n", item[0], item[1])
	}
	return b.String()
}

// maxParallel keeps a mistyped number from filling memory.
const maxParallel = 1_000_000

func (f *topologyFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	m, err := f.read()
	if err != nil {
		return err
	}
	doc := topology.Document{Machine: m}
	if f.placement != "" {
		rungs, err := m.Expand(f.placement)
		if err != nil {
			return err
		}
		if rungs[0].Placement != f.placement { // a preset
			doc.Ladder, err = f.climb(m, rungs)
		} else {
			doc.Placement, err = m.Place(f.placement, f.workers())
		}
		if err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(doc)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), m.Draw(doc.Placement)+drawLadder(doc.Ladder))
	return err
}

func (f *topologyFlags) check(cmd *cobra.Command) error {
	switch {
	case f.from != "" && f.machine != "":
		return fmt.Errorf("--from %s and --machine %s are two machines: give one", f.from, f.machine)
	case f.oneServer && cmd.Flags().Changed("pairs") && f.pairs:
		return fmt.Errorf("--pairs and --one-server exclude each other: give one")
	case f.parallel < 1 || f.parallel > maxParallel:
		return fmt.Errorf("--parallel %d: give a number of clients from 1 to %d", f.parallel, maxParallel)
	case f.placement != "":
		return topology.CheckName(f.placement)
	}
	for _, name := range []string{"parallel", "pairs", "one-server"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s says what to place: give --placement too", name)
		}
	}
	return nil
}

func (f *topologyFlags) read() (*topology.Machine, error) {
	switch {
	case f.from != "":
		return topology.FromFile(f.from)
	case f.machine != "":
		return topology.Describe(f.machine)
	}
	return topology.Live()
}

func (f *topologyFlags) workers() []topology.Worker {
	var workers []topology.Worker
	for i := range f.parallel {
		pair := topology.NoPair
		if f.pairs && !f.oneServer {
			pair = i
		}
		workers = append(workers, topology.Worker{Role: topology.Client, Index: i, Pair: pair})
		if pair != topology.NoPair {
			workers = append(workers, topology.Worker{Role: topology.Server, Index: i, Pair: pair})
		}
	}
	if f.oneServer {
		workers = append(workers, topology.Worker{Role: topology.Server, Index: 0, Pair: topology.NoPair})
	}
	return workers
}

// climb places the workers on every rung that the machine has.
func (f *topologyFlags) climb(m *topology.Machine, rungs []topology.Rung) ([]topology.Step, error) {
	var steps []topology.Step
	for _, r := range rungs {
		step := topology.Step{Label: r.Label, Name: r.Placement, Missing: r.Missing}
		if r.Missing == "" {
			var err error
			if step.Placement, err = m.Place(r.Placement, f.workers()); err != nil {
				return nil, err
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// drawLadder writes a line a rung: where it puts the first workers, or why
// this machine lacks it.
func drawLadder(steps []topology.Step) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range steps {
		text := "not here: " + s.Missing
		if s.Missing == "" {
			text = where(s.Placement)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Label, s.Name, text)
	}
	w.Flush()
	return b.String()
}

// where is the CPUs of a placement's first workers.
func where(p *topology.Placement) string {
	const most = 8
	var text []string
	for i, w := range p.Workers {
		if i == most {
			text = append(text, "…")
			break
		}
		text = append(text, fmt.Sprintf("%s%d:%d", w.Role[:1], w.Index, w.CPU))
	}
	return strings.Join(text, " ")
}
