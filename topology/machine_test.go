package topology

import (
	"encoding/json"
	"slices"
	"testing"
)

// sound checks what holds of every machine, whatever it was read from.
func sound(t testing.TB, m *Machine) {
	t.Helper()
	if len(m.Online()) == 0 {
		t.Fatal("a machine without an online CPU")
	}
	if !slices.IsSortedFunc(m.CPUs, func(a, b CPU) int { return a.CPU - b.CPU }) {
		t.Fatal("CPUs are not sorted")
	}
	for _, level := range []func(CPU) int{
		func(c CPU) int { return c.Package }, func(c CPU) int { return c.Die }, func(c CPU) int { return c.Core },
		func(c CPU) int { return c.L2 }, func(c CPU) int { return c.LLC }, func(c CPU) int { return c.Kind },
	} {
		seen := 0
		for _, c := range m.CPUs {
			n := level(c)
			if n < Unknown || n > len(m.CPUs) || !c.Online && n != Unknown || c.Allowed && !c.Online {
				t.Fatalf("CPU %+v", c)
			}
			seen = max(seen, n+1)
		}
		if groups := groupsOf(m, level); len(groups) != seen {
			t.Fatalf("groups are not numbered 0 to %d: %v", seen-1, groups)
		}
	}
	for _, row := range m.Distances {
		if len(row) != len(m.NodeNumbers) || len(m.Distances) != len(m.NodeNumbers) {
			t.Fatalf("distances %v of nodes %v", m.Distances, m.NodeNumbers)
		}
	}
	if _, err := json.Marshal(Document{Machine: m}); err != nil {
		t.Fatal(err)
	}
}

func TestNumbersFollowTheLowestCPU(t *testing.T) {
	m, err := FromSpec("pack:2 core:2 pu:2(indexes=7,3,6,2,5,1,4,0)")
	if err != nil {
		t.Fatal(err)
	}
	sound(t, m)
	for _, c := range []struct{ cpu, pkg, core, thread int }{{0, 0, 0, 0}, {4, 0, 0, 1}, {1, 0, 1, 0}, {5, 0, 1, 1}, {2, 1, 2, 0}, {7, 1, 3, 1}} {
		got, _ := m.Lookup(c.cpu)
		if got.Package != c.pkg || got.Core != c.core || got.Thread != c.thread {
			t.Errorf("CPU %d is %+v, want %+v", c.cpu, got, c)
		}
	}
}

func TestJSON(t *testing.T) {
	m, err := Read("testdata/machines/linux/post-htt-xeon-2s1c2t-interleaved")
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Place("server=0;client=1+3", []Worker{{Role: Client, Index: 0, Pair: 0}, {Role: Server, Index: 0, Pair: NoPair}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(Document{Machine: m, Placement: p}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/interleaved.json", string(got)+"\n")

	free, err := m.Place("free", []Worker{{Role: Client, Pair: NoPair}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(free); string(got) != `{"name":"free","workers":[{"role":"client","index":0,"pair":null,"cpu":null}]}` {
		t.Errorf("free workers: %s", got)
	}
}

func TestDistance(t *testing.T) {
	read := func(path string) *Machine {
		m, err := FromFile("testdata/machines/linux/" + path)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	described := func(text string) *Machine {
		m, err := Describe(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		what string
		m    *Machine
		a, b int
		want Level
	}{
		{"itself", described("opteron-4x2"), 3, 3, SameCPU},
		{"sibling core of an Opteron, node and package being one", described("opteron-4x2"), 0, 1, Node},
		{"other Opteron", described("opteron-4x2"), 0, 2, Cross},
		{"hyper-threads", described("xeon-htt"), 0, 1, SMT},
		{"other Xeon on the same bus and node", described("xeon-htt"), 0, 2, Cross},
		{"cores under one second and last level", described("pack:1 l2:2 core:2"), 0, 1, LLC},
		{"cores under one second level below a third", described("pack:1 l3:1 l2:2 core:2"), 0, 1, L2},
		{"cores under a third level", described("pack:1 l3:1 l2:2 core:2"), 0, 2, LLC},
		{"node before package", described("pack:2 numa:2 l3:2 core:2"), 0, 2, Node},
		{"package of several nodes", described("pack:2 numa:2 l3:2 core:2"), 0, 4, Package},
		{"last level wider than a node", described("pack:1 l3:1 numa:2 core:2"), 0, 1, Node},
		{"across nodes under one last level", described("pack:1 l3:1 numa:2 core:2"), 0, 2, LLC},
		{"dies", described("pack:1 die:2 core:2"), 0, 1, Die},
		{"across dies", described("pack:1 die:2 core:2"), 0, 2, Node}, // one node, which is the package too
		{"module of a Bulldozer", read("64amd64-4s2n4ca2co.tar.gz"), 0, 1, L2},
		{"other module", read("64amd64-4s2n4ca2co.tar.gz"), 0, 2, LLC},
		{"other die of a Bulldozer", read("64amd64-4s2n4ca2co.tar.gz"), 0, 8, Package},
		{"other package on one node", read("96em64t-4no4pa3ca2co.tar.gz"), 0, 1, Cross},
		{"an offline CPU", read("16em64t-4s2c2t-offlines.tar.gz"), 0, 2, WholeMachine},
		{"an absent CPU", described("xeon-htt"), 0, 99, WholeMachine},
		{"packages not told", read("../freebsd/ryzen9-3900x-12c24t.xml"), 0, 6, WholeMachine},
	} {
		if got := c.m.Distance(c.a, c.b); got != c.want {
			t.Errorf("%s: %d to %d is %v, want %v", c.what, c.a, c.b, got, c.want)
		}
		if there, back := c.m.Distance(c.a, c.b), c.m.Distance(c.b, c.a); there != back {
			t.Errorf("%s: %v there, %v back", c.what, there, back)
		}
	}
	m := read("vm-opteron-4s2c.tar.gz")
	if d, told := m.NodeDistance(0, 6); !told || d != 22 {
		t.Errorf("two hops are %d (%v)", d, told)
	}
	if got := m.Hops(); !slices.Equal(got, []int{16, 22}) {
		t.Errorf("classes of distance: %v", got)
	}
}

func TestSpecs(t *testing.T) {
	for spec, want := range map[string][5]int{ // CPUs, packages, nodes, cores, threads
		"pack:4 core:2 pu:1":                    {8, 4, 1, 8, 1},
		"Package:2 NUMANode:1 Core:2 PU:2":      {8, 2, 2, 4, 2},
		"numa:1 pack:2 core:1 pu:2":             {4, 2, 1, 2, 2},
		"socket:2 core:3":                       {6, 2, 1, 6, 1},
		"core:2 pu:2":                           {4, 1, 1, 2, 2},
		"pu:3":                                  {3, 1, 1, 3, 1},
		"pack:2 [numa] l3:2(size=8MB) core:2":   {8, 2, 2, 8, 1},
		"group:2 pack:2 l2:1 l1:1 core:1 pu:1":  {4, 4, 1, 4, 1},
		"pack:1 core:2 pu:2(indexes=0-3)":       {4, 1, 1, 2, 2},
		"pack:2 die:2 numa:1 l3:1 core:4 pu:2 ": {32, 2, 4, 16, 2},
	} {
		m, err := FromSpec(spec)
		if err != nil {
			t.Error(err)
			continue
		}
		sound(t, m)
		if got := [5]int{len(m.CPUs), m.Packages, m.Nodes, m.Cores, m.ThreadsPerCore}; got != want {
			t.Errorf("%q: %v, want %v", spec, got, want)
		}
	}
	for _, spec := range []string{"", "pack", "pack:", "pack:0", "pack:-1", "pack:x", "pack:2 pack:2", "pu:2 core:2", "tile:4", "pack:9999",
		"pack:100 core:100 pu:100", "pu:2(indexes=1)", "pu:2(indexes=a)", "pack:2(", "[cache] pu:1", "pu:2(indexes=1,1)"} {
		if m, err := FromSpec(spec); err == nil {
			t.Errorf("%q was read as %+v", spec, m)
		}
	}
	for _, known := range Models() {
		m, err := Describe(known[0])
		if err != nil {
			t.Error(err)
			continue
		}
		sound(t, m)
	}
	if _, err := Describe("cray"); err == nil {
		t.Error("an unknown model was made")
	}
}

func FuzzFromSpec(f *testing.F) {
	f.Add("pack:4 numa:1 core:2 pu:1")
	f.Add("pack:2 [numa] l3:2(size=8MB) core:2 pu:2(indexes=0,4,1,5,2,6,3,7)")
	for _, m := range models {
		f.Add(m.spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		if m, err := FromSpec(spec); err == nil {
			sound(t, m)
		}
	})
}
