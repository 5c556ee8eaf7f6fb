package topology

import (
	"encoding/json"
	"errors"
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

// known is nil, which JSON spells null, for a number that the machine does
// not tell.
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
func (p *Placement) Spare() []int { return p.spare }

// Rung is one step of a preset's ladder: a placement by its name, and what it
// is called on the machine that the preset was made for. Missing says why the
// machine at hand does not have it, and is empty where it does.
type Rung struct {
	Label     string
	Placement string
	Missing   string
}

var errNotYet = errors.New("not built yet")

// CheckName says whether name is a placement or a preset, without a machine.
func CheckName(name string) error { return nil }

// Place gives every worker its CPU, always within the allowed set, or refuses
// in one sentence. The order of workers is kept.
func (m *Machine) Place(name string, workers []Worker) (*Placement, error) {
	if name != "free" {
		return nil, errNotYet
	}
	p := &Placement{Name: name, Workers: append([]Worker(nil), workers...)}
	for i := range p.Workers {
		p.Workers[i].CPU = Free
	}
	return p, nil
}

// Expand resolves a preset to the rungs of its ladder; any other placement is
// a ladder of one rung.
func (m *Machine) Expand(name string) ([]Rung, error) {
	return []Rung{{Label: name, Placement: name}}, nil
}

// Live reads the machine that this program runs on.
func Live() (*Machine, error) { return nil, errNotYet }

// Read reads a recorded tree of Linux's sys and proc under the directory root.
func Read(root string) (*Machine, error) { return nil, errNotYet }

// FromSpec makes a machine from a description in hwloc's notation.
func FromSpec(spec string) (*Machine, error) { return nil, errNotYet }

// FromFile reads a recorded machine from a file.
func FromFile(path string) (*Machine, error) { return nil, errNotYet }

// Model makes one of the named machines.
func Model(name string) (*Machine, error) { return nil, errNotYet }
