package topology

import "fmt"

// divide splits the allowed CPUs (indexes) between servers and clients in the
// ratio servers:clients, along the widest level that gives that ratio exactly:
// whole packages, else nodes, dies, caches, cores. Where none does, whole
// cores come nearest.
func (p *plan) divide(ratio [2]int) (servers, clients []int, err error) {
	for _, level := range []Level{Package, Node, Die, LLC, L2, SMT} {
		units := p.units(level)
		if cut, exact := split(units, ratio); exact {
			servers, clients = join(units[:cut]), join(units[cut:])
			return servers, clients, nil
		}
	}
	units := p.units(SMT)
	if len(units) < 2 { // one core: its threads, or CPUs that tell no core
		units = nil
		for _, i := range p.cpus {
			units = append(units, []int{i})
		}
	}
	if len(units) < 2 {
		return nil, nil, fmt.Errorf("it needs two CPUs, one for servers and one for clients")
	}
	cut, _ := split(units, ratio)
	return join(units[:cut]), join(units[cut:]), nil
}

// units are the groups of a level, in tree order.
func (p *plan) units(level Level) [][]int {
	rank := make(map[int]int)
	var units [][]int
	for _, i := range p.cpus {
		g := p.m.CPUs[i].group(level)
		if g == Unknown {
			return nil
		}
		if _, found := rank[g]; !found {
			rank[g] = len(units)
			units = append(units, nil)
		}
		units[rank[g]] = append(units[rank[g]], i)
	}
	return units
}

// split returns after how many units the servers' part ends so that its CPUs
// are to the rest as ratio says, or most nearly so, and whether it is exact.
// Each part gets a unit.
func split(units [][]int, ratio [2]int) (cut int, exact bool) {
	total := 0
	for _, unit := range units {
		total += len(unit)
	}
	want := total * ratio[0]
	best, sum := -1, 0
	for i := 0; i < len(units)-1; i++ {
		sum += len(units[i])
		off := sum*(ratio[0]+ratio[1]) - want
		if off < 0 {
			off = -off
		}
		if best < 0 || off < best {
			best, cut = off, i+1
		}
	}
	return cut, best == 0
}

func join(units [][]int) []int {
	var all []int
	for _, unit := range units {
		all = append(all, unit...)
	}
	return all
}
