package topology

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// everyPlacement names each placement once or more.
var everyPlacement = []string{"free", "same-cpu", "split", "spread", "smt", "core", "llc", "node", "package", "cross", "hop=1", "hop=2", "hop=3",
	"compact", "scatter", "one-per-core", "partition", "partition=3:1", "partition=1:7"}

func pairsOf(n int) []Worker {
	var workers []Worker
	for i := range n {
		workers = append(workers, Worker{Role: Client, Index: i, Pair: i}, Worker{Role: Server, Index: i, Pair: i})
	}
	return workers
}

func clientsOf(n, servers int) []Worker {
	var workers []Worker
	for i := range n {
		workers = append(workers, Worker{Role: Client, Index: i, Pair: NoPair})
	}
	for i := range servers {
		workers = append(workers, Worker{Role: Server, Index: i, Pair: NoPair})
	}
	return workers
}

// drawMachine makes a machine of any shape: nodes inside packages or around
// them, distances as in a cube of links, some CPUs not allowed.
func drawMachine(t *rapid.T) *Machine {
	n := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
	spec := fmt.Sprintf("pack:%d numa:%d", n("packages", 4), 1<<rapid.IntRange(0, 1).Draw(t, "nodes"))
	if rapid.Bool().Draw(t, "nodes hold packages") {
		spec = fmt.Sprintf("numa:%d pack:%d", 1<<rapid.IntRange(0, 2).Draw(t, "nodes"), n("packages", 2))
	}
	if rapid.Bool().Draw(t, "third level") {
		spec += fmt.Sprintf(" l3:%d", n("l3", 2))
	}
	if rapid.Bool().Draw(t, "second level") {
		spec += fmt.Sprintf(" l2:%d", n("l2", 2))
	}
	spec += fmt.Sprintf(" core:%d pu:%d", n("cores", 3), n("threads", 3))
	m, err := FromSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "distances") {
		m.Distances = cube(m.Nodes)
	}
	if rapid.Bool().Draw(t, "restricted") {
		allowed := rapid.SliceOfDistinct(rapid.IntRange(0, len(m.CPUs)-1), rapid.ID[int]).Draw(t, "allowed")
		m.restrict(append(allowed, 0))
	}
	m.Source = spec
	return m
}

// cube gives nodes the distances of a cube's corners: 10 and 6 a hop.
func cube(nodes int) [][]int {
	matrix := make([][]int, nodes)
	for i := range matrix {
		for j := range nodes {
			matrix[i] = append(matrix[i], 10+6*bits.OnesCount(uint(i^j)))
		}
	}
	return matrix
}

// renumbered is the same machine with other CPU numbers.
func renumbered(t *rapid.T, m *Machine, numbers []int) *Machine {
	cpus := slices.Clone(m.CPUs)
	for i := range cpus {
		cpus[i].CPU = numbers[i]
	}
	r, err := assemble(cpus, slices.Clone(m.NodeNumbers), m.Distances, "renumbered", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wanted says what a placement of pairs promises of the CPUs of two ends,
// read from the machine and not from the placer; nil for other placements.
func wanted(m *Machine, name string) func(a, b CPU) bool {
	core := func(a, b CPU) bool { return a.Core != b.Core }
	several := func(group func(CPU) int) bool { // allowed CPUs of two groups or more
		first := Unknown
		for _, c := range m.CPUs {
			if c.Allowed && first == Unknown {
				first = group(c)
			} else if c.Allowed && group(c) != first {
				return true
			}
		}
		return false
	}
	switch name {
	case "same-cpu":
		return func(a, b CPU) bool { return a.CPU == b.CPU }
	case "split":
		if several(func(c CPU) int { return c.Core }) {
			return core
		}
		return func(a, b CPU) bool { return a.CPU != b.CPU }
	case "smt":
		return func(a, b CPU) bool { return a.Core == b.Core && a.CPU != b.CPU }
	case "core", "package":
		return func(a, b CPU) bool { return core(a, b) && a.Package == b.Package }
	case "llc":
		return func(a, b CPU) bool { return core(a, b) && a.LLC == b.LLC && a.LLC != Unknown }
	case "node":
		return func(a, b CPU) bool { return core(a, b) && a.Node == b.Node }
	case "cross":
		return func(a, b CPU) bool { return a.Package != b.Package }
	}
	if strings.HasPrefix(name, "hop=") {
		return func(a, b CPU) bool {
			distance, told := m.NodeDistance(a.CPU, b.CPU)
			hops, n := m.Hops(), int(name[4]-'1')
			return told && n < len(hops) && a.Node != b.Node && distance == hops[n]
		}
	}
	return nil
}

func TestPlacementsKeepTheirPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		name := rapid.SampledFrom(everyPlacement).Draw(t, "placement")
		workers := pairsOf(rapid.IntRange(1, 40).Draw(t, "pairs"))
		if rapid.Bool().Draw(t, "one server") {
			workers = clientsOf(len(workers)/2, rapid.IntRange(1, 2).Draw(t, "servers"))
		}
		want := wanted(m, name)
		p, err := m.Place(name, workers)
		if err != nil {
			refusedRightly(t, m, name, want, err)
			return
		}
		byPair := make(map[int]CPU)
		load := make(map[int]int)
		for i, w := range p.Workers {
			if w.Role != workers[i].Role || w.Index != workers[i].Index || w.Pair != workers[i].Pair {
				t.Fatalf("worker %d was %+v, is %+v", i, workers[i], w)
			}
			if name == "free" {
				if w.CPU != Free {
					t.Fatalf("a free worker is on CPU %d", w.CPU)
				}
				continue
			}
			c, _ := m.Lookup(w.CPU)
			if !c.Allowed {
				t.Fatalf("%s: %s %d is on CPU %d, which is not allowed", name, w.Role, w.Index, w.CPU)
			}
			load[w.CPU]++
			if w.Role == Server {
				byPair[w.Pair] = c
			}
		}
		if want != nil {
			for _, w := range p.Workers {
				if w.Role == Client && w.Pair != NoPair {
					if a, _ := m.Lookup(w.CPU); !want(a, byPair[w.Pair]) {
						t.Fatalf("%s on %s: pair %d on %d and %d, which are %v", name, m.Source, w.Pair, w.CPU, byPair[w.Pair].CPU, m.Distance(w.CPU, byPair[w.Pair].CPU))
					}
				}
			}
		}
		for _, c := range p.Spare() {
			if load[c] > 0 {
				t.Fatalf("CPU %d is called spare and has %d workers", c, load[c])
			}
		}
		if name != "free" && len(p.Spare())+len(load) != len(m.Allowed()) {
			t.Fatalf("%d spare CPUs, %d in use, %d allowed", len(p.Spare()), len(load), len(m.Allowed()))
		}
	})
}

// refusedRightly looks for two CPUs that the placement could have taken.
func refusedRightly(t *rapid.T, m *Machine, name string, want func(a, b CPU) bool, err error) {
	if strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
		t.Fatalf("%s: more than a sentence: %v", name, err)
	}
	if want == nil {
		if !strings.HasPrefix(name, "partition") || len(m.Allowed()) > 1 {
			t.Fatalf("%s on %s: %v", name, m.Source, err)
		}
		return
	}
	for _, a := range m.CPUs {
		for _, b := range m.CPUs {
			if a.Allowed && b.Allowed && want(a, b) {
				t.Fatalf("%s on %s: %v, but %d and %d would do", name, m.Source, err, a.CPU, b.CPU)
			}
		}
	}
}

// Where a shape has it, the distance asked for is exactly the distance got,
// and not a nearer one.
func TestDistanceAskedIsDistanceGot(t *testing.T) {
	machine := func(text string) *Machine {
		m, err := Describe(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	rich := machine("pack:2 numa:2 l3:2 l2:2 core:2 pu:2")
	rich.Distances = cube(4)
	for _, c := range []struct {
		m    *Machine
		name string
		want Level
		numa int
	}{
		{rich, "same-cpu", SameCPU, 10}, {rich, "smt", SMT, 10}, {rich, "core", L2, 10}, {rich, "llc", LLC, 10}, {rich, "node", Node, 10},
		{rich, "package", Package, 16}, {rich, "cross", Cross, 16}, {rich, "hop=1", Package, 16}, {rich, "hop=2", Cross, 22},
		{machine("opteron-4x2"), "core", Node, 10}, {machine("opteron-4x2"), "hop=1", Cross, 16}, {machine("opteron-4x2"), "hop=2", Cross, 22},
		{machine("opteron-4x16"), "core", L2, 10}, {machine("opteron-4x16"), "llc", LLC, 10}, {machine("opteron-4x16"), "package", Package, 16},
		{machine("epyc-2x64"), "llc", LLC, 10}, {machine("epyc-2x64"), "node", Node, 10}, {machine("epyc-2x64"), "package", Node, 10},
		{machine("xeon-htt"), "smt", SMT, 0}, {machine("xeon-htt"), "cross", Cross, 0}, {machine("xeon-htt-2c"), "core", Package, 0},
	} {
		p, err := c.m.Place(c.name, pairsOf(2))
		if err != nil {
			t.Error(err)
			continue
		}
		for i := 0; i < len(p.Workers); i += 2 {
			a, b := p.Workers[i].CPU, p.Workers[i+1].CPU
			numa, _ := c.m.NodeDistance(a, b)
			if got := c.m.Distance(a, b); got != c.want || numa != c.numa {
				t.Errorf("%s on %s: %d and %d meet at %v, NUMA distance %d; want %v, %d", c.name, c.m.Source, a, b, got, numa, c.want, c.numa)
			}
		}
	}
}

// Other numbers on the same machine: the workers lie to each other as before.
func TestNumberingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		numbers := rapid.Permutation(upTo(len(m.CPUs))).Draw(t, "numbers")
		if rapid.Bool().Draw(t, "sparse") {
			for i := range numbers {
				numbers[i] = numbers[i]*37 + 11
			}
		}
		other := renumbered(t, m, numbers)
		name := rapid.SampledFrom(everyPlacement).Draw(t, "placement")
		workers := pairsOf(rapid.IntRange(1, 8).Draw(t, "pairs"))
		if rapid.Bool().Draw(t, "one server") {
			workers = clientsOf(len(workers), 1)
		}
		p, err := m.Place(name, workers)
		q, otherErr := other.Place(name, workers)
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("%s on %s: %v; renumbered: %v", name, m.Source, err, otherErr)
		}
		if err != nil || name == "free" {
			return
		}
		for i := range p.Workers {
			for j := range p.Workers {
				a, b := p.Workers[i].CPU, p.Workers[j].CPU
				c, d := q.Workers[i].CPU, q.Workers[j].CPU
				if m.Distance(a, b) != other.Distance(c, d) {
					t.Fatalf("%s on %s: workers %d and %d are on %d and %d (%v); renumbered on %d and %d (%v)",
						name, m.Source, i, j, a, b, m.Distance(a, b), c, d, other.Distance(c, d))
				}
				before, _ := m.NodeDistance(a, b)
				after, _ := other.NodeDistance(c, d)
				if before != after {
					t.Fatalf("%s on %s: workers %d and %d are %d apart; renumbered %d", name, m.Source, i, j, before, after)
				}
			}
		}
	})
}

// More workers than CPUs fill these evenly, and the plan says so.
func TestCPUsAreFilledEvenly(t *testing.T) {
	for _, spec := range []string{"opteron-4x2", "xeon-htt", "xeon-htt-2c", "opteron-4x16", "pack:1 core:3", "pack:1 l3:1 core:3 pu:2", "pack:3 numa:1 core:1"} {
		m, err := Describe(spec)
		if err != nil {
			t.Fatal(err)
		}
		n := len(m.CPUs)
		for _, name := range everyPlacement {
			if strings.HasPrefix(name, "partition") || name == "free" {
				continue
			}
			p, err := m.Place(name, pairsOf(3*n))
			if err != nil {
				continue
			}
			load := make(map[int]int)
			for _, w := range p.Workers {
				load[w.CPU]++
			}
			most, least := 0, 6*n
			for _, l := range load {
				most, least = max(most, l), min(least, l)
			}
			if most != least {
				t.Errorf("%s on %s: from %d to %d workers a CPU", name, spec, least, most)
			}
			if !slices.ContainsFunc(p.Notes, func(s string) bool { return strings.Contains(s, " share ") }) {
				t.Errorf("%s on %s: nothing says that CPUs are shared: %v", name, spec, p.Notes)
			}
			if name != "one-per-core" && name != "same-cpu" && len(p.Spare()) != 0 {
				t.Errorf("%s on %s: CPUs %v are idle", name, spec, p.Spare())
			}
		}
	}
}

func TestPlacementsByName(t *testing.T) {
	htt, _ := Describe("xeon-htt-2c")
	opteron, _ := Describe("opteron-4x2")
	big, _ := Describe("opteron-4x16")
	plain, _ := Describe("pack:2 numa:1 core:2")
	three := pairsOf(3)
	for _, c := range []struct {
		m       *Machine
		name    string
		workers []Worker
		want    string // CPUs in the order of the workers
	}{
		{htt, "same-cpu", three, "0 0 2 2 4 4"},
		{htt, "spread", three, "0 2 4 6 1 3"},
		{htt, "compact", three, "0 1 2 3 4 5"},
		{htt, "scatter", three, "0 4 2 6 1 5"},
		{htt, "one-per-core", three, "0 2 4 6 0 2"},
		{htt, "smt", three, "0 1 2 3 4 5"},
		{htt, "core", three, "0 2 4 6 1 3"},
		{htt, "cross", three, "0 4 2 6 1 5"},
		{htt, "cpus=5+0-1", three, "5 0 1 5 0 1"},
		{htt, "server=0-1;client=7+4", three, "7 0 4 1 7 0"},
		{htt, "client=2;server=3", three, "2 3 2 3 2 3"},
		{htt, "partition", three, "4 0 6 2 5 1"},
		{htt, "partition=3:1", pairsOf(2), "6 0 7 2"},
		{htt, "partition=1:3", pairsOf(2), "2 0 4 1"},
		{opteron, "hop=2", three, "0 6 1 7 2 4"},
		{opteron, "partition=3:1", three, "6 0 7 1 6 2"},
		{opteron, "smt", nil, "refused: no SMT siblings"},
		{plain, "hop=1", nil, "refused: tells no distances between NUMA nodes"},
		{opteron, "hop=3", nil, "refused: only 2 classes of NUMA distance: 16 22"},
		{opteron, "llc", nil, "refused: does not tell its last-level caches"},
		{opteron, "cpus=0+8", nil, "refused: CPU 8 is not present: choose among 0-7"},
		{htt, "hop=1", nil, "refused: this machine has only one NUMA node"},
		{htt, "opteron", nil, "refused: ladder"},
		// one server and its clients: it stands still, they keep the distance
		{htt, "same-cpu", clientsOf(2, 1), "0 0 0"},
		{htt, "smt", clientsOf(2, 1), "1 1 0"},
		{htt, "core", clientsOf(3, 1), "2 3 2 0"},
		{htt, "cross", clientsOf(5, 1), "4 6 5 7 4 0"},
		{opteron, "hop=1", clientsOf(5, 1), "2 3 4 5 2 0"},
		{htt, "spread", clientsOf(3, 1), "0 4 6 2"},
		// workers that are their own peers
		{htt, "same-cpu", clientsOf(3, 0), "0 2 4"},
		{htt, "split", clientsOf(3, 0), "0 2 4"},
		{htt, "cross", clientsOf(3, 0), "refused: no other end"},
	} {
		workers := c.workers
		if workers == nil {
			workers = pairsOf(1)
		}
		p, err := c.m.Place(c.name, workers)
		if refusal, refused := strings.CutPrefix(c.want, "refused: "); refused {
			if err == nil || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%s on %s: %v, want a refusal with %q", c.name, c.m.Source, err, refusal)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, w := range p.Workers {
			got = append(got, fmt.Sprint(w.CPU))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s on %s: %s, want %s", c.name, c.m.Source, s, c.want)
		}
	}
	// Servers on 48 of 64 CPUs, clients on the others, by whole packages.
	p, err := big.Place("partition=3:1", pairsOf(100))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range p.Workers {
		if (w.CPU < 48) != (w.Role == Server) {
			t.Errorf("partition=3:1: %s %d on CPU %d", w.Role, w.Index, w.CPU)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range append(everyPlacement, "cpus=0", "cpus=0-3+8", "server=0-5;client=6+7", "client=1;server=0", "opteron", "htt", "hop=12") {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
		if strings.Contains(name, ",") {
			t.Errorf("%q has a comma, which separates values", name)
		}
	}
	for _, name := range []string{"", "near", "cpus", "cpus=", "cpus=a", "cpus=3-1", "cpus=0,1", "hop", "hop=0", "hop=-1", "hop=x", "partition=3", "partition=0:1",
		"partition=", "server=0", "client=0", "server=0;server=1", "server=;client=1", "server=0;client=", "server=0;client=1;client=2", "smt=2", "cpus=LIST", "hop=N",
		"server=LIST;client=LIST"} {
		if err := CheckName(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	m, _ := Describe("xeon-htt")
	for _, known := range Placements() {
		name := strings.NewReplacer("cpus=LIST", "cpus=0", "hop=N", "hop=1", "server=LIST", "server=0", "client=LIST", "client=1").Replace(known[0])
		if _, err := m.Place(name, pairsOf(1)); err != nil && strings.Contains(err.Error(), "not known") {
			t.Errorf("%s is listed and not known", known[0])
		}
	}
}

func TestLadders(t *testing.T) {
	for _, c := range []struct{ machine, preset, want string }{
		{"opteron-4x2", "opteron", "same core: same-cpu; sibling core: core; 1 hop: hop=1; 2 hops: hop=2"},
		{"xeon-htt", "htt", "same thread: same-cpu; sibling thread: smt; other core: core (this machine has no two cores in one package); other package: cross"},
		{"xeon-htt-2c", "htt", "same thread: same-cpu; sibling thread: smt; other core: core; other package: cross"},
		{"opteron-4x2", "htt", "same thread: same-cpu; sibling thread: smt (this machine has no SMT siblings); other core: core; other package: cross"},
		{"xeon-htt", "opteron", "same core: same-cpu; sibling core: core (this machine has no two cores in one package); " +
			"1 hop: hop=1 (this machine has only one NUMA node); other package: cross"},
		{"xeon-htt", "smt", "smt: smt"},
	} {
		m, err := Describe(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		rungs, err := m.Expand(c.preset)
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, r := range rungs {
			text := r.Label + ": " + r.Placement
			if r.Missing != "" {
				text += " (" + r.Missing + ")"
			}
			got = append(got, text)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s on %s:\n got %s\nwant %s", c.preset, c.machine, s, c.want)
		}
	}
	m, _ := Describe("xeon-htt")
	if _, err := m.Expand("no-such"); err == nil {
		t.Error("an unknown name was expanded")
	}
}

// A thousand workers on 256 CPUs, by every placement, each in under 50 ms.
func TestAThousandWorkersAreQuick(t *testing.T) {
	machines := []string{"epyc-2x64", "pack:8 numa:1 core:32", "numa:1 pack:64 core:1 pu:4", "pack:1 core:256"}
	for _, spec := range machines {
		m, err := Describe(spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.CPUs) != 256 {
			t.Fatalf("%s has %d CPUs", spec, len(m.CPUs))
		}
		if m.Distances == nil {
			m.Distances = cube(m.Nodes)
		}
		for _, name := range everyPlacement {
			for _, workers := range [][]Worker{pairsOf(500), clientsOf(999, 1)} {
				best := time.Hour
				for range 5 { // the machine is shared: the least of a few
					begin := time.Now()
					m.Place(name, workers)
					best = min(best, time.Since(begin))
				}
				if best > 50*time.Millisecond && !raceDetector {
					t.Errorf("%s on %s: %v", name, spec, best)
				}
			}
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	m, _ := Describe("epyc-2x64")
	workers := pairsOf(500)
	for b.Loop() {
		if _, err := m.Place("cross", workers); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range append(everyPlacement, "cpus=0-3+8", "server=0-5;client=6+7", "hop=2", "partition=3:1") {
		f.Add(name)
	}
	m, err := Describe("xeon-htt-2c")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		checked := CheckName(name)
		p, err := m.Place(name, pairsOf(2))
		if checked != nil && err == nil {
			t.Fatalf("%q was refused by name and placed", name)
		}
		if err == nil && name != "free" {
			for _, w := range p.Workers {
				if c, _ := m.Lookup(w.CPU); !c.Allowed {
					t.Fatalf("%q: worker on %d", name, w.CPU)
				}
			}
		}
	})
}
