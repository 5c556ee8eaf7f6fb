package topology

import (
	"fmt"
	"strconv"
	"strings"

	"udsbench/affinity"
)

// Placements lists the placements by name, as "udsbench list" shows them:
// name and what it does.
func Placements() [][2]string {
	return [][2]string{
		{"free", "no pinning: the scheduler decides"},
		{"same-cpu", "both ends of a pair on one CPU"},
		{"split", "the ends of a pair on different CPUs, on different cores where there are several"},
		{"spread", "workers round robin over the allowed CPUs, one thread of each core first"},
		{"cpus=LIST", "workers round robin over these CPUs, in the order written: cpus=0-3+8"},
		{"smt", "the ends on two threads of one core"},
		{"core", "the ends on different cores of one package, nearest first"},
		{"llc", "the ends on different cores that share the last-level cache"},
		{"node", "the ends on different cores of one NUMA node, under different last-level caches where it has several"},
		{"package", "the ends in one package, on different nodes or under different last-level caches where it has several"},
		{"cross", "the ends in different packages, nearest first"},
		{"hop=N", "the ends on NUMA nodes of the N-th distance class, hop=1 being the nearest"},
		{"compact", "workers side by side: threads of a core, then cores, then packages"},
		{"scatter", "workers far apart: packages first, cores next, threads last"},
		{"one-per-core", "workers round robin over cores, SMT siblings left idle"},
		{"partition", "servers on one part of the packages, clients on the rest, half each; partition=3:1 gives servers three parts of four"},
		{"server=LIST;client=LIST", "each role round robin over its own CPUs: server=0-5;client=6+7"},
		{"opteron", "the ladder of a multi-node machine: same core, sibling core, one hop, two hops, …"},
		{"matrix", "one pair on every pair of CPUs; on a machine of more than 16, on one pair of each class of distance"},
		{"htt", "the ladder of a hyper-threaded machine: same thread, sibling thread, other core, other package"},
	}
}

// parsedName is a placement's name taken apart.
type parsedName struct {
	word    string // what stands before "="
	cpus    []int  // cpus=
	servers []int  // server=
	clients []int  // client=
	hop     int    // hop=
	ratio   [2]int // partition=: servers to clients
}

// CheckName says whether name is a placement or a preset, and its value well
// formed. What a machine has is another question, which Place answers.
func CheckName(name string) error {
	_, err := parseName(name)
	return err
}

func parseName(name string) (parsedName, error) {
	p := parsedName{word: name}
	var err error
	word, value, hasValue := strings.Cut(name, "=")
	switch {
	case strings.Contains(name, ","):
		return p, fmt.Errorf("placement %q: a comma separates placements; inside one + joins CPUs, as in cpus=0-3+8", name)
	case word == "server" || word == "client":
		p.word = "roles"
		p.servers, p.clients, err = parseRoles(name)
		return p, err
	case !hasValue:
		for _, known := range Placements() {
			if name == known[0] && name != "cpus=LIST" && name != "hop=N" {
				p.ratio = [2]int{1, 1}
				return p, nil
			}
		}
	case word == "cpus":
		p.word = word
		p.cpus, err = parseCPUs(name, value)
		return p, err
	case word == "hop":
		p.word = word
		p.hop, err = strconv.Atoi(value)
		if err != nil || p.hop < 1 {
			return p, fmt.Errorf("placement %q: hop takes a number from 1, the nearest other nodes; the own node is placement node", name)
		}
		return p, nil
	case word == "partition":
		p.word = word
		servers, clients, _ := strings.Cut(value, ":")
		s, errS := strconv.Atoi(servers)
		c, errC := strconv.Atoi(clients)
		if errS != nil || errC != nil || s < 1 || c < 1 || s > affinity.MaxCPU || c > affinity.MaxCPU {
			return p, fmt.Errorf("placement %q: partition takes servers:clients, two numbers from 1, as in partition=3:1", name)
		}
		p.ratio = [2]int{s, c}
		return p, nil
	}
	return p, fmt.Errorf("placement %q is not known: known are %s", name, knownNames())
}

func knownNames() string {
	var names []string
	for _, known := range Placements() {
		names = append(names, known[0])
	}
	return strings.Join(names, ", ")
}

func parseCPUs(name, value string) ([]int, error) {
	cpus, err := affinity.ParseList(value)
	if err != nil {
		return nil, fmt.Errorf("placement %q: %w", name, err)
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("placement %q names no CPU", name)
	}
	return cpus, nil
}

func parseRoles(name string) (servers, clients []int, err error) {
	first, second, two := strings.Cut(name, ";")
	for _, part := range []string{first, second} {
		role, value, _ := strings.Cut(part, "=")
		var cpus *[]int
		switch role {
		case Server:
			cpus = &servers
		case Client:
			cpus = &clients
		}
		if !two || cpus == nil || *cpus != nil {
			return nil, nil, fmt.Errorf("placement %q: give both roles once, as in server=0-5;client=6+7", name)
		}
		if *cpus, err = parseCPUs(name, value); err != nil {
			return nil, nil, err
		}
	}
	return servers, clients, nil
}
