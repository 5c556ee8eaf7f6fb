package pingpong

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"udsbench/record"
)

// Wiring says how the ends of a workload's connections are laid.
type Wiring int

const (
	Pairs  Wiring = iota // client i and server i have a connection of their own
	Shared               // one connection: all clients hold one end, all servers the other
	Bound                // all clients send to the one socket that the server has bound
	Fan                  // all clients connect to one listener; any server may serve any of them
	Self                 // each client has a pair of its own, both ends in its hands; no server
	Alone                // no connection: each client makes what it needs; no server
)

// Operation says what one operation of a workload is.
type Operation int

const (
	RoundTrip Operation = iota // a request and its reply
	Message                    // a message received
	Cycle                      // a whole cycle by one worker: made and closed, or sent to itself
)

var operationNames = [...]string{"round trip", "message received", "cycle"}

func (o Operation) String() string { return operationNames[o] }

// Workload is a kind of socket exchange. Each is one file that registers
// itself; nothing else names it.
type Workload struct {
	Name     string
	Isolates string   // which lock or path it stresses, on Linux and on FreeBSD
	Twin     string   // the null twin that stands beside it, as Twins reads it
	Expect   string   // what a finer lock should change
	Stop     string   // the stop protocol: who leaves first and how the other side learns of it
	Targets  []string // scopes of locks for which it is a target
	Nulls    []string // scopes of locks for which it is a null
	Params   []Param  // what --param can set

	Wiring      Wiring
	Operation   Operation
	Transports  []string          // that can exist, the default first
	NoTransport map[string]string // why the others cannot, and what would
	Addresses   []string          // nil: all that the transport has
	Only        string            // the one operating system that has it; "": all
	Why         string            // with Only: why the others lack it
	Request     int               // default bytes; 0: 64
	Response    int               // default bytes where something comes back; 0: 64

	Model            string            // default of clients; "": process
	ServerModel      string            // default where clients are processes; "": the clients' model
	NoModel          map[string]string // why clients cannot be of a model, and what would
	NoServerModel    map[string]string // the same for servers
	OneServerProcess bool              // the server is one process whatever it is told
	OneListener      bool              // one listener that all clients meet at
	ReadersLeave     bool              // of messages, the clients are the readers and the server writes
	Unconnected      bool              // clients of a Bound wiring name the receiver in each message
	IdleServers      bool              // work goes to whichever server is free: one may be left without
	Times            string            // the part of its operation that Client times itself (mark, took); "": the whole is timed
	Spins            bool              // workers do calibrated CPU work

	// Servers is the number of server workers; nil: as the wiring has it.
	Servers func(record.Cell) int
	// FDs is how many descriptors a worker of the role holds beside the ends of
	// its connection; nil: none.
	FDs func(c record.Cell, role string) int
	// Setup makes what a worker needs, as ordinary Go, on its pinned thread,
	// connected and before gate 2; may be nil.
	Setup func(*Seat) error

	// Client and Server do one operation. They are called inside the timed
	// loop and must be nosplit and norace; they return 0, an errno or a fail
	// code of Send and Recv.
	Client, Server func(*Worker) uintptr

	// Check refuses what only this workload cannot have; may be nil.
	Check func(record.Cell) error

	// Script is what a server-shaped profile does (profile.go); nil elsewhere.
	Script []byte
}

var registry = map[string]*Workload{}

// Register adds a workload. It is called from init functions and panics when a
// name is taken or a field that users read is missing.
func Register(w Workload) {
	if registry[w.Name] != nil {
		panic("workload " + w.Name + " is registered twice")
	}
	w.complete()
	registry[w.Name] = &w
}

func (w *Workload) complete() {
	for field, text := range map[string]string{"Name": w.Name, "Isolates": w.Isolates, "Twin": w.Twin, "Expect": w.Expect, "Stop": w.Stop} {
		if text == "" {
			panic(fmt.Sprintf("workload %q has no %s", w.Name, field))
		}
	}
	if w.Operation == RoundTrip {
		w.Params = append(w.Params, rateParam)
	}
}

// Lookup returns the workload of that name, which may be a profile's, or an
// error that lists the names.
func Lookup(name string) (*Workload, error) {
	if w := registry[name]; w != nil {
		return w, nil
	}
	if strings.HasPrefix(name, ProfilePrefix) {
		return lookupProfile(name)
	}
	return nil, fmt.Errorf("workload %q is not known; there are %s, and %sNAME", name, join(Names()), ProfilePrefix)
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

// Twin is a null twin of a workload: the same shape without the lock.
type Twin struct {
	Flags string `json:"flags"`          // of run, beside the workload's own: --workload where it is another's
	Note  string `json:"note,omitempty"` // what it is the twin in
}

// Twins reads the field of that name: "NAME FLAGS: NOTE; NAME FLAGS", the note
// where there are several.
func (w *Workload) Twins() (all []Twin) {
	for _, text := range strings.Split(w.Twin, "; ") {
		text, note, _ := strings.Cut(text, ": ")
		name, flags, _ := strings.Cut(text, " ")
		if name != w.Name {
			flags = strings.TrimSpace("--workload " + name + " " + flags)
		}
		all = append(all, Twin{flags, note})
	}
	return all
}

// ServersOf is the number of server workers of a filled cell.
func (w *Workload) ServersOf(c record.Cell) int {
	switch {
	case w.Servers != nil:
		return w.Servers(c)
	case w.Wiring == Pairs:
		return c.Parallel
	case w.Wiring == Self || w.Wiring == Alone:
		return 0
	}
	return 1
}

// Counts is the role whose operations are the run's.
func (w *Workload) Counts() string {
	if w.Operation == Message {
		return w.receiver()
	}
	return record.Client
}

// LatencyOf says what the workload's latencies are of, at a rate of that value
// or, where it is "", in a closed loop.
func (w *Workload) LatencyOf(rate string) string {
	switch {
	case w.Times != "":
		return w.Times + " alone"
	case w.Operation == Message:
		return "a message, from being sent to being read"
	case rate != "":
		return "a " + w.Operation.String() + ", from when it was due"
	}
	return "a " + w.Operation.String()
}

// Carries reports whether each operation carries a message of the cell's sizes.
func (w *Workload) Carries() bool {
	return w.Operation != Cycle || w.Wiring == Self
}

// receiver is the role that reads messages to which nothing comes back.
func (w *Workload) receiver() string {
	if w.ReadersLeave {
		return record.Client
	}
	return record.Server
}

// ModelsOf lists the models that clients and servers can be of; none of servers
// where there are no servers.
func (w *Workload) ModelsOf() (clients, servers []string) {
	servers = []string{}
	for _, m := range Models {
		if w.NoModel[m] == "" {
			clients = append(clients, m)
		}
		if !w.alone() && w.NoServerModel[m] == "" && !w.oneProcessOf(m) {
			servers = append(servers, m)
		}
	}
	return clients, servers
}

// oneProcessOf reports whether servers of that model would be many processes
// where the workload has one.
func (w *Workload) oneProcessOf(serverModel string) bool {
	// With one server worker the two models are one process each; with many, process means many.
	return w.OneServerProcess && (w.Wiring == Pairs || w.Wiring == Fan) && serverModel == "process"
}

// alone reports whether the workload has no servers at all.
func (w *Workload) alone() bool { return w.ServersOf(record.Cell{Parallel: 1}) == 0 }

// HasTransport reports whether the workload can run over a transport.
func (w *Workload) HasTransport(t string) bool { return slices.Contains(w.Transports, t) }

// AddressesOver lists how the workload's peers can meet over a transport, the
// default first; "none" alone where there are no peers.
func (w *Workload) AddressesOver(transport string) []string {
	if w.Wiring == Alone {
		return []string{NoAddress}
	}
	var can []string
	for _, a := range Addresses(transport) {
		if w.Addresses == nil || slices.Contains(w.Addresses, a) {
			can = append(can, a)
		}
	}
	return can
}

// Inherits reports whether the ends of connections are made by the coordinator
// and inherited, since they have no name to meet at or are shared.
func (w *Workload) Inherits(c record.Cell) bool {
	return w.Wiring == Shared ||
		w.Wiring == Pairs && (c.Address == "socketpair" || c.Address == "pipe")
}

func join(names []string) string { return strings.Join(names, ", ") }
