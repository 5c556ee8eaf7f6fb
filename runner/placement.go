package runner

import (
	"fmt"
	"slices"
	"strings"

	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/topology"
)

// Workers lists the workers of a cell as placements want them: clients first,
// each with the pair that it is one end of.
func Workers(c record.Cell) ([]topology.Worker, error) {
	w, err := pingpong.Lookup(c.Workload)
	if err != nil {
		return nil, err
	}
	pair := func(i int) int {
		if w.Wiring == pingpong.Pairs {
			return i
		}
		return topology.NoPair
	}
	var workers []topology.Worker
	for i := range c.Parallel {
		workers = append(workers, topology.Worker{Role: record.Client, Index: i, Pair: pair(i), CPU: topology.Free})
	}
	for i := range w.ServersOf(c) {
		workers = append(workers, topology.Worker{Role: record.Server, Index: i, Pair: pair(i), CPU: topology.Free})
	}
	return workers, nil
}

// Place computes where the cell's workers go on machine m, or says in one
// sentence why they cannot.
func Place(m *topology.Machine, c record.Cell) (*topology.Placement, error) {
	workers, err := Workers(c)
	if err != nil {
		return nil, err
	}
	if (c.Model == "goroutine" || c.ServerModel == "goroutine") && c.Placement != "free" {
		if byPair(c.Placement) {
			return nil, fmt.Errorf("placement %s: goroutines have no thread of their own to pin, only their process has a mask; use free, or server=LIST;client=LIST", c.Placement)
		}
		if c.OneProcess && byRole(c.Placement) {
			return nil, fmt.Errorf("placement %s: the goroutines of both roles share one process and its mask; leave --one-process out", c.Placement)
		}
	}
	return m.Place(c.Placement, workers)
}

// PlacedCPUs gives the placement as Options want it: nil where all are free.
func PlacedCPUs(p *topology.Placement) []int {
	cpus := make([]int, len(p.Workers))
	pinned := false
	for i, w := range p.Workers {
		cpus[i] = w.CPU
		pinned = pinned || w.CPU != topology.Free
	}
	if !pinned {
		return nil
	}
	return cpus
}

// byPair reports whether a placement says where the two ends of one pair go.
func byPair(placement string) bool {
	return strings.HasPrefix(placement, "hop=") ||
		slices.Contains([]string{"same-cpu", "split", "smt", "core", "llc", "node", "package", "cross"}, placement)
}

// byRole reports whether a placement gives each role CPUs of its own.
func byRole(placement string) bool {
	return strings.HasPrefix(placement, "partition") || strings.HasPrefix(placement, "server=") || strings.HasPrefix(placement, "client=")
}
