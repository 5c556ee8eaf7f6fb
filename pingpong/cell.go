package pingpong

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"udsbench/record"
	"udsbench/sched"
)

// Transports and Models list what the command line takes, in the order of the
// documentation.
var (
	Transports = []string{"unix-stream", "unix-seqpacket", "unix-dgram", "tcp", "pipe"}
	Models     = []string{"process", "thread", "goroutine"}
)

// ModelHelp says what each model is.
var ModelHelp = map[string]string{
	"process":   "each worker a process",
	"thread":    "all workers of a role in one process, a kernel thread each (1:1)",
	"goroutine": "all workers of a role in one process, over the Go scheduler (M:N)",
}

const (
	defaultBytes = 64
	maxStream    = 1 << 20 // bytes
	maxParallel  = 10000
)

// Here reports whether this operating system has the workload.
func (w *Workload) Here() bool { return w.Only == "" || w.Only == runtime.GOOS }

// NoAddress is the address of a cell in which nobody meets anybody.
const NoAddress = "none"

// Addresses lists how peers can meet over a transport here, the default first.
// A transport that is not known has none.
func Addresses(transport string) []string {
	switch transport {
	case "unix-stream", "unix-seqpacket", "unix-dgram":
		if runtime.GOOS == "linux" {
			return []string{"path", "socketpair", "abstract"}
		}
		return []string{"path", "socketpair"}
	case "tcp":
		return []string{"inet", "inet6"}
	case "pipe":
		return []string{"pipe"}
	}
	return nil
}

// Catalogue is what package plan asks about cells.
type Catalogue struct{}

// Fill gives the cell's unset values the workload's defaults. Unset is the
// empty string, and -1 for Request and Response. A workload or transport that
// is not known is left for Check.
func (Catalogue) Fill(c record.Cell) record.Cell {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	w, err := Lookup(c.Workload)
	if err != nil {
		return c
	}
	set(&c.Transport, w.Transports[0])
	for _, a := range w.AddressesOver(c.Transport) {
		set(&c.Address, a)
	}
	set(&c.Placement, "free")
	set(&c.Clock, "vdso")
	set(&c.Policy, InheritPolicy)
	if c.Model == "" {
		c.Model = "process"
		if c.OneProcess {
			c.Model = "thread"
		}
		if w.Model != "" {
			c.Model = w.Model
		}
	}
	switch {
	case w.alone():
		set(&c.ServerModel, c.Model)
	case w.ServerModel != "" && (c.Model == "process" || w.NoServerModel[c.Model] != ""):
		set(&c.ServerModel, w.ServerModel)
	default:
		set(&c.ServerModel, c.Model)
	}
	if c.Request < 0 {
		c.Request = defaultBytes
		if w.Request != 0 {
			c.Request = w.Request
		}
	}
	if c.Response < 0 {
		c.Response = 0
		if w.Operation == RoundTrip {
			c.Response = defaultBytes
			if w.Response != 0 {
				c.Response = w.Response
			}
		}
	}
	c.Params = w.fillParams(c.Params, c.Transport)
	return c
}

// Check says in one sentence why the cell cannot exist, and what would; nil
// where it can. Placements are checked by package topology.
func (Catalogue) Check(c record.Cell) error {
	w, err := Lookup(c.Workload)
	if err != nil {
		return err
	}
	if !w.Here() {
		return fmt.Errorf("%s: %s", w.Name, w.Why)
	}
	if !slices.Contains(Transports, c.Transport) {
		return fmt.Errorf("transport %q is not known; there are %s", c.Transport, join(Transports))
	}
	if !w.HasTransport(c.Transport) {
		return fmt.Errorf("%s has no transport %s: %s", w.Name, c.Transport, w.NoTransport[c.Transport])
	}
	if err := checkAddress(w, c); err != nil {
		return err
	}
	if err := checkModels(w, c); err != nil {
		return err
	}
	if err := checkPolicy(c); err != nil {
		return err
	}
	if c.Parallel < 1 || c.Parallel > maxParallel {
		return fmt.Errorf("parallel %d is not between 1 and %d", c.Parallel, maxParallel)
	}
	if c.Response != 0 && w.Operation != RoundTrip {
		return fmt.Errorf("response %d: in %s nothing comes back; leave --response out or 0", c.Response, w.Name)
	}
	if err := checkSize(c.Transport, "request", c.Request); err != nil {
		return err
	}
	if w.Operation == RoundTrip {
		if err := checkSize(c.Transport, "response", c.Response); err != nil {
			return err
		}
	}
	if _, err := ParseClock(c.Clock); err != nil {
		return err
	}
	if err := w.checkParams(c); err != nil {
		return err
	}
	if n := number(c, bufferParam.Name); n != 0 && c.Transport == "unix-dgram" && n < leastBuffer(c.Request) {
		return fmt.Errorf("param buffer=%d: a datagram of %d bytes with its sender's name would never fit into it; give %d or more, or a smaller --request",
			n, c.Request, leastBuffer(c.Request))
	}
	if c.Params["rate"] != "" && c.Clock != "vdso" && c.Clock != "syscall" {
		return fmt.Errorf("rate %s: latency from the intended time needs --clock vdso or syscall, not %s", c.Params["rate"], c.Clock)
	}
	if w.Check != nil {
		return w.Check(c)
	}
	return nil
}

func checkAddress(w *Workload, c record.Cell) error {
	if w.Wiring == Alone {
		if c.Address != NoAddress {
			return fmt.Errorf("address %s: in %s nobody meets anybody; leave --address out", c.Address, w.Name)
		}
		return nil
	}
	have := Addresses(c.Transport)
	if !slices.Contains(have, c.Address) {
		switch {
		case c.Address == "abstract" && strings.HasPrefix(c.Transport, "unix-"):
			return fmt.Errorf("address abstract is a name space that only Linux has; use path or socketpair")
		case c.Transport == "tcp" && c.Address == "socketpair":
			return fmt.Errorf("address socketpair: TCP ends cannot be made as a pair; use inet or inet6")
		case slices.Contains([]string{"path", "socketpair", "abstract", "inet", "inet6", "pipe"}, c.Address):
			return fmt.Errorf("address %s does not go with transport %s, which has %s", c.Address, c.Transport, join(have))
		}
		return fmt.Errorf("address %q is not known; there are path, socketpair, abstract, inet, inet6", c.Address)
	}
	if can := w.AddressesOver(c.Transport); !slices.Contains(can, c.Address) {
		return fmt.Errorf("%s over %s cannot meet by %s; it can by %s", w.Name, c.Transport, c.Address, join(can))
	}
	return nil
}

// InheritPolicy is the policy of workers that are told nothing: what the
// program was started with.
const InheritPolicy = "inherit"

func checkPolicy(c record.Cell) error {
	realTime := false
	if c.Policy != InheritPolicy {
		p, err := sched.ParsePolicy(c.Policy)
		if err != nil {
			return err
		}
		realTime = p.RealTime()
	}
	nice := c.NiceClient != 0 || c.NiceServer != 0
	if (c.Policy != InheritPolicy || nice) && (c.Model == "goroutine" || c.ServerModel == "goroutine") {
		return fmt.Errorf("policy %s, nice %d and %d: goroutines have no thread of their own to be told; use --model thread", c.Policy, c.NiceClient, c.NiceServer)
	}
	if realTime && nice {
		return fmt.Errorf("policy %s: a nice value means nothing to it; leave --nice-client and --nice-server out", c.Policy)
	}
	return nil
}

func checkModels(w *Workload, c record.Cell) error {
	for _, m := range []string{c.Model, c.ServerModel} {
		if !slices.Contains(Models, m) {
			return fmt.Errorf("model %q is not known; there are %s", m, join(Models))
		}
	}
	if why := w.NoModel[c.Model]; why != "" {
		return fmt.Errorf("%s has no model %s: %s", w.Name, c.Model, why)
	}
	if w.alone() && c.ServerModel != c.Model {
		return fmt.Errorf("server-model %s: %s has no server; leave --server-model out", c.ServerModel, w.Name)
	}
	if why := w.NoServerModel[c.ServerModel]; why != "" && !w.alone() {
		return fmt.Errorf("%s has no server-model %s: %s", w.Name, c.ServerModel, why)
	}
	if w.oneProcessOf(c.ServerModel) {
		return fmt.Errorf("server-model process: the server of %s is one process; use thread or goroutine, or the workload pingpong", w.Name)
	}
	if c.OneProcess {
		if c.Model == "process" || c.ServerModel == "process" {
			return fmt.Errorf("one-process needs --model thread or goroutine: workers that are processes cannot share one")
		}
		if c.Model != c.ServerModel {
			return fmt.Errorf("one-process needs the same --model and --server-model, not %s and %s", c.Model, c.ServerModel)
		}
		if w.alone() {
			return fmt.Errorf("one-process: %s has no server to share a process with; --model thread already has all workers in one", w.Name)
		}
	}
	return nil
}

// checkSize holds messages to 1 byte … 1 MiB on streams; elsewhere the kernel
// is asked whether it takes such a message at all.
func checkSize(transport, name string, n int) error {
	if n < 1 || n > maxStream {
		return fmt.Errorf("%s %d is not between 1 byte and %d (1 MiB)", name, n, maxStream)
	}
	if isStream(transport) {
		return nil
	}
	_, err := trySend(transport, n)
	if errors.Is(err, unix.EMSGSIZE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("%s %d is longer than a message that %s takes here (%v); make it smaller or raise %s", name, n, transport, err, bufferSysctl)
	}
	if err != nil {
		return fmt.Errorf("%s: a socket to try a message of %d bytes on: %v", transport, n, err)
	}
	return nil
}

// fitsBuffer refuses messages that would block a worker that is its own reader.
func fitsBuffer(c record.Cell) error {
	sent, err := trySend(c.Transport, c.Request)
	if err == nil && sent == c.Request {
		return nil
	}
	return fmt.Errorf("request %d: %s would hang, since a message must fit the buffer whole and %d bytes of it do; make it smaller", c.Request, c.Workload, max(sent, 0))
}

// trySend sends one message of n bytes into a pair that nobody reads, without
// blocking, and returns how much of it went in.
func trySend(transport string, n int) (int, error) {
	a, b, err := openPair(transport)
	if err != nil {
		return 0, err
	}
	defer closeAll(a.R, a.W, b.R, b.W)
	if err := unix.SetNonblock(a.W, true); err != nil {
		return 0, err
	}
	return unix.Write(a.W, make([]byte, n))
}

func isStream(transport string) bool {
	return transport == "unix-stream" || transport == "tcp" || transport == "pipe"
}

// parts reports whether a message over the transport can come in parts.
func parts(transport string) bool {
	return isStream(transport) || transport == "unix-seqpacket" && recordFlag != 0
}
