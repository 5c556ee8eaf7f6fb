package pingpong

import (
	"strings"
	"testing"

	"udsbench/record"
)

func filled(c record.Cell) record.Cell {
	if c.Request == 0 {
		c.Request = -1
	}
	c.Response = -1
	if c.Parallel == 0 {
		c.Parallel = 3
	}
	return Catalogue{}.Fill(c)
}

// Every workload says what a reader needs, and exists in its default form with
// every transport that it names; the transports that it lacks have a reason.
func TestEveryWorkloadIsWhole(t *testing.T) {
	for _, name := range Names() {
		w, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, transport := range Transports {
			c := filled(record.Cell{Workload: name, Transport: transport})
			if transport == "unix-dgram" {
				c.Request = min(c.Request, 8192) // FreeBSD's net.local.dgram.maxdgram
			}
			err := Catalogue{}.Check(c)
			switch {
			case w.HasTransport(transport) && err != nil && w.Only == "":
				t.Errorf("%s over %s: %v", name, transport, err)
			case !w.HasTransport(transport) && (err == nil || w.NoTransport[transport] == ""):
				t.Errorf("%s lacks %s and does not say why", name, transport)
			}
			for _, p := range w.Params {
				if p.Help == "" || p.Takes() == "" && p.Check == nil {
					t.Errorf("%s: parameter %s is not explained", name, p.Name)
				}
				if usual := p.defaultOver(transport); usual != "" && c.Params[p.Name] != usual {
					t.Errorf("%s: %s is %q in the cell, not its default", name, p.Name, c.Params[p.Name])
				}
			}
		}
		for _, x := range w.Twins() {
			f := strings.Fields(x.Flags)
			if len(f) < 2 || len(f)%2 != 0 || f[0] == "--workload" && registry[f[1]] == nil {
				t.Errorf("%s: no twin has the flags %q", name, x.Flags)
			}
		}
		if len(w.Targets) == 0 {
			t.Errorf("%s is a target for no scope", name)
		}
	}
}

func TestParamsAreRefused(t *testing.T) {
	for _, x := range []struct {
		cell record.Cell
		want string
	}{
		{record.Cell{Workload: "storm", Params: map[string]string{"depth": "4"}}, "param depth: storm has none of that name; it has acceptors, backlog"},
		{record.Cell{Workload: "churn", Params: map[string]string{"depth": "4"}}, "param depth: churn has none"},
		{record.Cell{Workload: "storm", Params: map[string]string{"acceptors": "0"}}, "param acceptors=0: it takes 1…64"},
		{record.Cell{Workload: "storm", Params: map[string]string{"acceptors": "07"}}, "it takes 1…64"},
		{record.Cell{Workload: "rights", Params: map[string]string{"pass": "pipe"}}, "param pass=pipe: it takes socket, null, nothing"},
		{record.Cell{Workload: "peek", Transport: "unix-dgram", Params: map[string]string{"depth": "2"}}, "param depth=2: unix-dgram keeps messages apart"},
		{record.Cell{Workload: "peek", Transport: "unix-seqpacket", Params: map[string]string{"depth": "64"}}, "use depth=1 or 0, or unix-stream"},
		{record.Cell{Workload: "sendto", Params: map[string]string{"full": "poll"}}, "use retry or yield"},
		{record.Cell{Workload: "fanin-dgram", Model: "goroutine", Params: map[string]string{"full": "yield"}}, "a goroutine waits in its poller"},
		{record.Cell{Workload: "storm", Model: "goroutine", ServerModel: "thread"}, "storm has no model goroutine: "},
		{record.Cell{Workload: "epfan", ServerModel: "goroutine"}, "epfan has no server-model goroutine: "},
		{record.Cell{Workload: "epfan", Request: 65536, Params: map[string]string{"waiters": "4"}}, "two could read parts of one message"},
		{record.Cell{Workload: "churn", Address: "path"}, "nobody meets anybody"},
		{record.Cell{Workload: "bulk", Transport: "pipe", Params: map[string]string{"buffer": "4096"}}, "a pipe has no socket buffers"},
		{record.Cell{Workload: "pingpong", Clock: "none", Params: map[string]string{"rate": "10"}}, "needs --clock vdso or syscall"},
		{record.Cell{Workload: "churn", Params: map[string]string{"rate": "10"}}, "param rate: churn has none"},
	} {
		err := Catalogue{}.Check(filled(x.cell))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.cell, err, x.want)
		}
	}
}

// A spin takes the time that it is calibrated to, within what a busy machine
// lets be seen: the least of many tries is compared.
func TestSpinTakesItsTime(t *testing.T) {
	s := CalibrateSpin()
	perUS := s.PerUS
	if s.Tries < spinTries || s.Spread < 0 || !SpinAgrees(s) && s.Tries < spinMost {
		t.Errorf("%+v: it gave up too soon", s)
	}
	const want = 200_000 // ns
	best := int64(1 << 62)
	for range 50 {
		t := nanotime()
		spin(uint64(perUS * want / 1e3))
		best = min(best, nanotime()-t)
	}
	if best < want*8/10 || best > want*13/10 {
		t.Errorf("%d ns of spin took %d", want, best)
	}
}
