package topology

import "encoding/json"

// MarshalJSON writes what the machine does not tell as null.
func (c CPU) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		CPU     int  `json:"cpu"`
		Online  bool `json:"online"`
		Allowed bool `json:"allowed"`
		Package *int `json:"package"`
		Node    *int `json:"node"`
		Die     *int `json:"die"`
		Core    *int `json:"core"`
		Thread  *int `json:"thread"`
		L2      *int `json:"l2"`
		LLC     *int `json:"llc"`
		Kind    *int `json:"kind"`
	}{c.CPU, c.Online, c.Allowed, known(c.Package), known(c.Node), known(c.Die), known(c.Core), known(c.Thread),
		known(c.L2), known(c.LLC), known(c.Kind)})
}

// Document is a machine, and where a placement puts workers on it, as
// "udsbench topology --json" prints them.
type Document struct {
	*Machine
	Placement *Placement // nil where none was asked for
	Ladder    []Step     // of a preset
}

// Step is a rung of a ladder with the workers of its placement, if this
// machine has it.
type Step struct {
	Label     string     `json:"label"`
	Name      string     `json:"name"`
	Missing   string     `json:"missing,omitempty"` // why this machine does not have it
	Placement *Placement `json:"placement"`
}

// MarshalJSON writes the names that the command line promises.
func (d Document) MarshalJSON() ([]byte, error) {
	warnings := d.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	return json.Marshal(struct {
		CPUs           []CPU      `json:"cpus"`
		Packages       *int       `json:"packages"`
		Nodes          *int       `json:"nodes"`
		Cores          *int       `json:"cores"`
		ThreadsPerCore *int       `json:"threads_per_core"`
		MemoryNodes    []int      `json:"memory_nodes,omitempty"`
		Distances      [][]int    `json:"distances"`
		Source         string     `json:"source"`
		Warnings       []string   `json:"warnings"`
		Placement      *Placement `json:"placement,omitempty"`
		Ladder         []Step     `json:"ladder,omitempty"`
	}{d.CPUs, known(d.Packages), known(d.Nodes), known(d.Cores), known(d.ThreadsPerCore), d.MemoryNodes,
		d.Distances, d.Source, warnings, d.Placement, d.Ladder})
}
