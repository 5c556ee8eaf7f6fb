package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"udsbench/pingpong"
	"udsbench/plan"
	"udsbench/profile"
	"udsbench/record"
	"udsbench/suite"
	"udsbench/topology"
)

func longest(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return most
}

// Where the terminal does not say how wide it is, lists and help are 80 columns
// wide; a narrower one gets narrower lines.
func TestListsFitTheTerminal(t *testing.T) {
	home := tempDir(t)
	for _, args := range [][]string{{"list"}, {"list", "--help"}, {"run", "--help"}, {"profile", "record", "--help"}, {"profile", "show", "--help"}} {
		r := udsbench(t, home, args...)
		if n := longest(r.out); r.status != 0 || n > 80 || n < 40 {
			t.Errorf("%v: status %d, lines of up to %d columns", args, r.status, n)
		}
	}
	others, err := others()
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{60, 200} {
		var b strings.Builder
		list(&b, others, width)
		if n := longest(b.String()); n > width || n < width-15 {
			t.Errorf("in %d columns: lines of up to %d", width, n)
		}
	}
}

// list --json has all that list has: each workload's parameters with what they
// take, where its peers can meet, its models, and profiles, placements, suites.
func TestListJSON(t *testing.T) {
	r := udsbench(t, tempDir(t), "list", "--json")
	if r.status != 0 || r.err != "" {
		t.Fatal(r)
	}
	found := map[string][]string{}
	for line := range strings.Lines(r.out) {
		var x struct {
			Kind, Name, Description string
			Params                  []struct {
				Name, Flag, Help, Default string
				Values                    []string
				Min, Max                  *int
			}
			Addresses json.RawMessage
			LatencyOf string `json:"latency_of"`
			Models    []string
			Servers   []string `json:"server_models"`
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		found[x.Kind] = append(found[x.Kind], x.Name)
		if x.Kind != "workload" && x.Kind != "transport" && x.Description == "" {
			t.Errorf("%s %s is not described", x.Kind, x.Name)
		}
		for _, p := range x.Params {
			if p.Help == "" || (p.Min == nil) != (p.Max == nil) || !strings.Contains(p.Flag, p.Name) {
				t.Errorf("%s %s: %+v", x.Kind, x.Name, p)
			}
			if p.Name == "acceptors" && (*p.Min != 1 || *p.Max != 64 || p.Default != "1" || p.Flag != "--param acceptors") {
				t.Errorf("%s: %+v", x.Name, p)
			}
			if p.Name == "rate" && (*p.Min != 1 || *p.Max != 100_000_000 || p.Flag != "--rate") {
				t.Errorf("%s: %+v", x.Name, p)
			}
			if p.Name == "passcred" && (p.Min != nil || !slices.Equal(p.Values, []string{"on", "off"})) {
				t.Errorf("%s: %+v", x.Name, p)
			}
		}
		var addresses map[string][]string
		if x.Kind == "workload" && (json.Unmarshal(x.Addresses, &addresses) != nil || len(addresses) == 0 || len(x.Models) == 0 || x.LatencyOf == "") {
			t.Errorf("%s: addresses %s, models %v, latency of %q", x.Name, x.Addresses, x.Models, x.LatencyOf)
		}
		if x.Name == "storm" && (!slices.Equal(addresses["tcp"], []string{"inet", "inet6"}) || !slices.Equal(x.Models, []string{"process", "thread"}) || !slices.Equal(x.Servers, []string{"thread", "goroutine"})) {
			t.Errorf("storm: addresses %s, models %v, server models %v", x.Addresses, x.Models, x.Servers)
		}
	}
	var placements []string
	for _, p := range topology.Placements() {
		placements = append(placements, p[0])
	}
	suites := suite.Names()
	slices.Sort(suites)
	for kind, want := range map[string][]string{"workload": pingpong.Names(), "profile": profile.Names(), "transport": pingpong.Transports,
		"model": pingpong.Models, "placement": placements, "suite": suites} {
		if !slices.Equal(found[kind], want) {
			t.Errorf("%ss %v, want %v", kind, found[kind], want)
		}
	}
	if !slices.Contains(found["instrument"], plan.Instruments[0]) {
		t.Errorf("instruments %v", found["instrument"])
	}
}

// The suite of locks holds every workload, and beside it each of its twins.
func TestLockingHasEveryTwin(t *testing.T) {
	s, err := suite.Load("locking")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(plan.Input{Suite: s.Products, Settings: s.Settings(plan.DefaultSettings())}, pingpong.Catalogue{})
	if err != nil {
		t.Fatal(err)
	}
	// has reports whether a cell has what flags ask for.
	has := func(c record.Cell, flags []string) bool {
		for i := 0; i < len(flags); i += 2 {
			flag, value := strings.TrimPrefix(flags[i], "--"), flags[i+1]
			if flag == "param" {
				flag, value, _ = strings.Cut(value, "=")
			}
			if !slices.Contains(plan.Fields(c), plan.Field{Name: flag, Value: value}) {
				return false
			}
		}
		return true
	}
	for _, name := range pingpong.Names() {
		w, _ := pingpong.Lookup(name)
		if !w.Here() {
			continue
		}
		for _, twin := range w.Twins() {
			flags := strings.Fields(twin.Flags)
			if flags[0] != "--workload" {
				flags = append(flags, "--workload", name)
			}
			self, other := false, false
			for _, c := range p.Cells {
				self = self || c.Workload == name && !has(c, flags)
				other = other || has(c, flags)
			}
			if !self || !other {
				t.Errorf("%s and its twin %s: in the suite are %v and %v", name, strings.Join(flags, " "), self, other)
			}
		}
	}
}

// A table that cannot be written is an error, whatever the runtime puts in the
// place of a standard output that was closed; what was measured is kept.
func TestClosedOutput(t *testing.T) {
	home := tempDir(t)
	const run = ` run --workload pingpong --runs 1 --ops 1000 --out `
	for _, x := range []struct {
		name, script string
		status       int
	}{
		{"closed", binary + run + `closed >&-; exit $?`, 1},
		{"full", binary + run + `full >/dev/full; exit $?`, 1},
		{"discarded", binary + run + `discarded >/dev/null; exit $?`, 0},
		{"daemon", `exec 3<>/dev/null; ` + binary + run + `daemon <&3 >&3; exit $?`, 0},
	} {
		r := finish(t, exec.Command("sh", "-c", x.script), home)
		if r.status != x.status || (x.status != 0) != strings.Contains(r.err, "standard output: ") || strings.Contains(r.err, "kept in "+x.name) != (x.status != 0) {
			t.Errorf("%s: want status %d\n%v", x.name, x.status, r)
		}
		if r := udsbench(t, home, "export", "--to", "csv", x.name); r.status != 0 || strings.Count(r.out, "\n") < 2 {
			t.Errorf("%s: no session: %v", x.name, r)
		}
	}
	for _, command := range []string{"list", "topology", "export --to csv full"} {
		r := finish(t, exec.Command("sh", "-c", binary+" "+command+" >/dev/full; exit $?"), home)
		if r.status != 1 || !strings.Contains(r.err, "standard output: ") {
			t.Errorf("%s: want status 1\n%v", command, r)
		}
	}
	r := finish(t, exec.Command("sh", "-c", binary+" list >&-; exit $?"), home)
	if r.status != 1 || !strings.Contains(r.err, "standard output: it is closed") {
		t.Error(r)
	}
}
