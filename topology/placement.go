package topology

import (
	"encoding/json"
	"fmt"
	"slices"

	"udsbench/affinity"
)

// The roles of a worker.
const (
	Client = "client"
	Server = "server"
)

// Free is the CPU of a worker that may run anywhere in the allowed set, and
// NoPair the pair of one that has no single partner.
const (
	Free   = -1
	NoPair = -1
)

// Worker is one worker of a run: its role, its rank within the role, the pair
// that it is one end of (NoPair where there is none, as the one server of many
// clients), and the CPU that it was given (Free: anywhere).
type Worker struct {
	Role  string
	Index int
	Pair  int
	CPU   int
}

// MarshalJSON writes a missing pair and a free CPU as null.
func (w Worker) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Role  string `json:"role"`
		Index int    `json:"index"`
		Pair  *int   `json:"pair"`
		CPU   *int   `json:"cpu"`
	}{w.Role, w.Index, known(w.Pair), known(w.CPU)})
}

// known is nil, which JSON spells null, for a number that is not told.
func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// Placement says where each worker of a run goes.
type Placement struct {
	Name    string   `json:"name"`
	Workers []Worker `json:"workers"`
	Notes   []string `json:"notes,omitempty"` // what a person should know, as "3 workers to a CPU"

	spare []int
}

// Spare returns the allowed CPUs that no worker was given, ascending: where a
// coordinator disturbs nobody. It is empty when every CPU is taken, and where
// the workers are free to run anywhere.
func (p *Placement) Spare() []int { return slices.Clone(p.spare) }

// Place gives every worker its CPU, always an allowed one, or refuses in one
// sentence. The order of workers is kept, and their CPU fields are ignored.
//
// Two ends belong together where a client and a server bear the same Pair.
// Clients without a pair belong to the servers without a pair, in turn: the
// one server of many clients is an end of each of them. For placements of
// pairs, such a server gets its CPU first, and its clients share the CPUs
// that lie at the wanted distance. Workers that have no other end at all
// (each its own peer) can be anywhere; only placements that speak of the
// distance between two ends are refused to them.
//
// Where there are more workers than CPUs, the CPUs are filled evenly by the
// same rule, and Notes say so.
func (m *Machine) Place(name string, workers []Worker) (*Placement, error) {
	parsed, err := parseName(name)
	if err != nil {
		return nil, err
	}
	if len(m.Allowed()) == 0 {
		return nil, fmt.Errorf("placement %q: this process may run on no CPU that is online", name)
	}
	p := &Placement{Name: name, Workers: slices.Clone(workers)}
	for i := range p.Workers {
		p.Workers[i].CPU = Free
	}
	if parsed.word == "free" {
		return p, nil
	}
	if err := m.place(parsed, p); err != nil {
		return nil, fmt.Errorf("placement %q: %w", name, err)
	}
	p.noteLoad(m)
	return p, nil
}

func (m *Machine) place(name parsedName, p *Placement) error {
	plan := m.newPlan()
	switch name.word {
	case "opteron", "htt", "matrix":
		return fmt.Errorf("it is a ladder of several placements: run its rungs one by one")
	case "spread":
		p.deal(m, plan.threadsLast(plan.cpus), anyRole)
	case "compact":
		p.deal(m, plan.cpus, anyRole)
	case "scatter":
		p.deal(m, plan.threadsLast(plan.tree.dealt()), anyRole)
	case "one-per-core":
		if m.Cores == Unknown {
			return fmt.Errorf("this machine does not tell which CPUs are threads of one core")
		}
		p.deal(m, plan.firstThreads(), anyRole)
	case "cpus":
		cpus, err := m.named(name.cpus)
		if err != nil {
			return err
		}
		p.deal(m, cpus, anyRole)
	case "roles":
		servers, err := m.named(name.servers)
		if err != nil {
			return err
		}
		clients, err := m.named(name.clients)
		if err != nil {
			return err
		}
		p.deal(m, servers, Server)
		p.deal(m, clients, Client)
	case "partition":
		servers, clients, err := plan.divide(name.ratio)
		if err != nil {
			return err
		}
		p.deal(m, plan.threadsLast(servers), Server)
		p.deal(m, plan.threadsLast(clients), Client)
	default:
		return plan.placePairs(name, p)
	}
	return nil
}

const anyRole = ""

// deal gives the workers of a role the CPUs (indexes in m.CPUs) in turn. Two
// ends of a pair are neighbours in that turn: clients and servers alternate,
// by index.
func (p *Placement) deal(m *Machine, cpus []int, role string) {
	var turn []int
	for i := range p.Workers {
		if role == anyRole || p.Workers[i].Role == role {
			turn = append(turn, i)
		}
	}
	slices.SortStableFunc(turn, func(a, b int) int {
		x, y := &p.Workers[a], &p.Workers[b]
		return order(x) - order(y)
	})
	for n, i := range turn {
		p.Workers[i].CPU = m.CPUs[cpus[n%len(cpus)]].CPU
	}
}

// order ranks workers by pair, or by index where they have none.
func order(w *Worker) int {
	if w.Pair != NoPair {
		return w.Pair
	}
	return w.Index
}

// named turns CPU numbers that a person gave into indexes, or says which of
// them cannot be used and why.
func (m *Machine) named(cpus []int) ([]int, error) {
	var indexes []int
	for _, number := range cpus {
		c, present := m.Lookup(number)
		why := ""
		switch {
		case !present:
			why = "is not present"
		case !c.Online:
			why = "is offline"
		case !c.Allowed:
			why = "is outside the cpuset or mask of this process"
		}
		if why != "" {
			return nil, fmt.Errorf("CPU %d %s: choose among %s", number, why, affinity.FormatList(m.Allowed()))
		}
		indexes = append(indexes, m.at[number])
	}
	return indexes, nil
}

func (m *Machine) numbersOf(indexes []int) []int {
	numbers := make([]int, 0, len(indexes))
	for _, i := range indexes {
		numbers = append(numbers, m.CPUs[i].CPU)
	}
	return numbers
}

// noteLoad says where several workers share a CPU, and finds the spare CPUs.
func (p *Placement) noteLoad(m *Machine) {
	load := make(map[int]int)
	for _, w := range p.Workers {
		load[w.CPU]++
	}
	most, least := 0, len(p.Workers)
	for _, n := range load {
		most, least = max(most, n), min(least, n)
	}
	for _, c := range m.Allowed() {
		if load[c] == 0 {
			p.spare = append(p.spare, c)
		}
	}
	switch {
	case most <= 1:
	case len(load) == 1:
		p.Notes = append(p.Notes, fmt.Sprintf("%d workers share one CPU", most))
	case most == least:
		p.Notes = append(p.Notes, fmt.Sprintf("%d workers share each of %d CPUs", most, len(load)))
	default:
		p.Notes = append(p.Notes, fmt.Sprintf("%d to %d workers share a CPU (%d CPUs in use)", least, most, len(load)))
	}
}
