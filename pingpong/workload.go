package pingpong

import (
	"fmt"
	"slices"
	"sort"

	"udsbench/record"
)

// Wiring says how the ends of a workload's connections are laid.
type Wiring int

const (
	Pairs  Wiring = iota // client i and server i have a connection of their own
	Shared               // one connection: all clients hold one end, one server the other
	Bound                // all clients send to the one socket that the server has bound
	Self                 // each client has a pair of its own, both ends in its hands; no server
)

// Workload is a kind of socket exchange. Each is one file that registers
// itself; nothing else names it.
type Workload struct {
	Name     string
	Isolates string   // which lock or path it stresses, on Linux and on FreeBSD
	Twin     string   // the null twin that stands beside it
	Expect   string   // what a finer lock should change
	Stop     string   // the stop protocol: who leaves first and how the other side learns of it
	Targets  []string // scopes of locks for which it is a target
	Nulls    []string // scopes of locks for which it is a null

	Wiring           Wiring
	Transports       []string          // that can exist, the default first
	NoTransport      map[string]string // why the others cannot, and what would
	Addresses        []string          // nil: all that the transport has
	OneServerProcess bool              // the server is one process whatever it is told
	OneListener      bool              // one listener that all clients meet at
	ServerModel      string            // default where clients are processes; "" the clients' model
	Reply            bool              // something comes back: an operation is a round trip, else a message received

	// Client and Server do one operation. They are called inside the timed
	// loop and must be nosplit and norace; they return 0, an errno or a fail
	// code of Send and Recv.
	Client, Server func(*Worker) uintptr

	// Check refuses what only this workload cannot have; may be nil.
	Check func(record.Cell) error
}

var registry = map[string]*Workload{}

// Register adds a workload. It is called from init functions and panics when a
// name is taken or a field that users read is missing.
func Register(w Workload) {
	if registry[w.Name] != nil {
		panic("workload " + w.Name + " is registered twice")
	}
	for field, text := range map[string]string{"Name": w.Name, "Isolates": w.Isolates, "Twin": w.Twin, "Expect": w.Expect, "Stop": w.Stop} {
		if text == "" {
			panic(fmt.Sprintf("workload %q has no %s", w.Name, field))
		}
	}
	registry[w.Name] = &w
}

// Lookup returns the workload of that name, or an error that lists the names.
func Lookup(name string) (*Workload, error) {
	if w := registry[name]; w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("workload %q is not known; there are %s", name, join(Names()))
}

// Names lists the workloads in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(registry))
	for n := range registry {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Servers is the number of server workers beside n clients.
func (w *Workload) Servers(n int) int {
	switch w.Wiring {
	case Pairs:
		return n
	case Self:
		return 0
	}
	return 1
}

// Counts is the role whose operations are the run's.
func (w *Workload) Counts() string {
	if w.Reply || w.Wiring == Self {
		return record.Client
	}
	return record.Server
}

// HasTransport reports whether the workload can run over a transport.
func (w *Workload) HasTransport(t string) bool { return slices.Contains(w.Transports, t) }
