package pingpong

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"udsbench/profile"
)

var update = flag.Bool("update", false, "write the catalogue into docs/workloads.md")

const (
	docsBegin = "<!-- catalogue: written by go test ./pingpong -run TestDocs -update -->\n"
	docsEnd   = "<!-- end -->"
)

// catalogue is what docs/workloads.md says of every workload.
func catalogue() string {
	var b strings.Builder
	for _, name := range Names() {
		w, _ := Lookup(name)
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n", name, w.Isolates)
		fmt.Fprintf(&b, "- twin: %s\n- with a finer lock: %s\n- operation: %s\n- latency: of %s\n- stop: %s\n", w.Twin, w.Expect, w.Operation, w.LatencyOf(""), w.Stop)
		fmt.Fprintf(&b, "- target for: %s; null for: %s\n", orNone(w.Targets), orNone(w.Nulls))
		fmt.Fprintf(&b, "- transports: %s\n", join(w.Transports))
		if w.Only != "" {
			fmt.Fprintf(&b, "- only on %s: %s\n", w.Only, w.Why)
		}
		for _, m := range Models {
			if why := w.NoModel[m]; why != "" {
				fmt.Fprintf(&b, "- not by --model %s: %s\n", m, why)
			}
			if why := w.NoServerModel[m]; why != "" {
				fmt.Fprintf(&b, "- not by --server-model %s: %s\n", m, why)
			}
		}
		for _, p := range w.Params {
			if p.Name == rateParam.Name {
				continue
			}
			takes, usual := p.Takes(), p.WhereNotGiven()
			if p.Name == "full" {
				takes, usual = join(fullNames), "" // which differ by system
			}
			fmt.Fprintf(&b, "- `%s` (%s", p.Name, takes)
			if usual != "" {
				fmt.Fprintf(&b, "; %s where not given", usual)
			}
			fmt.Fprintf(&b, "): %s\n", p.Help)
		}
	}
	return b.String() + "\n"
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return join(names)
}

// The documentation says of every workload what the program says.
func TestDocs(t *testing.T) {
	const path = "../docs/workloads.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), docsBegin)
	old, after, ok2 := strings.Cut(rest, docsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the catalogue", path)
	}
	want := catalogue()
	if *update {
		if err := os.WriteFile(path, []byte(before+docsBegin+want+docsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range Names() {
		if !strings.Contains(old, "\n### "+name+"\n") {
			t.Errorf("%s lacks %s: go test ./pingpong -run TestDocs -update", path, name)
		}
	}
	if old != want && !t.Failed() {
		t.Errorf("%s does not say what the workloads say: go test ./pingpong -run TestDocs -update", path)
	}
	profiles, err := os.ReadFile("../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range profile.Names() {
		if !strings.Contains(string(profiles), "`"+name+"`") {
			t.Errorf("docs/profiles.md lacks %s", name)
		}
	}
}
