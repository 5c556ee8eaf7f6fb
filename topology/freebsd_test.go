package topology

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"udsbench/affinity"
	"udsbench/sysctl"
)

// TestFreeBSDTexts holds the reader to the table of expected readings.
func TestFreeBSDTexts(t *testing.T) {
	for _, dir := range fixtureDirs(t) {
		for _, row := range readTSV(t, filepath.Join(dir, "freebsd", "SOURCES.tsv")) {
			file := filepath.Join(dir, "freebsd", row["file"])
			m, err := FromFile(file)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			agreeWithSources(t, file, m, row)
		}
	}
}

func agreeWithSources(t *testing.T, file string, m *Machine, row map[string]string) {
	t.Helper()
	for column, got := range map[string]int{"cpus": len(m.Online()), "cores": m.Cores, "smt_width": m.ThreadsPerCore} {
		if row[column] != strconv.Itoa(got) {
			t.Errorf("%s: %s: got %d, want %s", file, column, got, row[column])
		}
	}
	core := groupsOf(m, func(c CPU) int { return c.Core })
	siblings := slices.DeleteFunc(slices.Clone(core), func(g string) bool { return !strings.ContainsAny(g, ",-") })
	wanted := func(column string) []string {
		if row[column] == "same as siblings" {
			return sorted(siblings)
		}
		groups := strings.Split(row[column], ";")
		groups[len(groups)-1], _, _ = strings.Cut(groups[len(groups)-1], " ") // "(as printed)"
		return sorted(groups)
	}
	for column, got := range map[string][]string{
		"sibling_groups": siblings,
		"l2_groups":      groupsOf(m, func(c CPU) int { return c.L2 }),
		"l3_groups":      groupsOf(m, func(c CPU) int { return c.LLC }),
	} {
		switch {
		case row[column] == "-" && column == "l3_groups": // then the last level known is the second
			got, column = groupsOf(m, func(c CPU) int { return c.LLC }), "l2_groups"
			if row[column] == "-" {
				continue
			}
		case row[column] == "-":
			if len(got) > 0 {
				t.Errorf("%s: %s: got %v, want none", file, column, got)
			}
			continue
		}
		if !slices.Equal(sorted(got), wanted(column)) {
			t.Errorf("%s: %s: got %v, want %s", file, column, got, row[column])
		}
	}
	agreeOnSockets(t, file, m, row["sockets_or_numa_nodes"])
}

// agreeOnSockets reads "4: 0,1;2,3" as packages and "2 nodes: 0-19;20-39" as
// nodes. Where the text does not tell, no number may be made up, and a warning
// must say so.
func agreeOnSockets(t *testing.T, file string, m *Machine, want string) {
	t.Helper()
	count := regexp.MustCompile(`^\d+`).FindString(want)
	_, groups, listed := strings.Cut(want, ": ")
	switch {
	case strings.Contains(want, " nodes"):
		if got := nodeGroups(m); !slices.Equal(sorted(got), sorted(strings.Split(groups, ";"))) || strconv.Itoa(m.Nodes) != count {
			t.Errorf("%s: %d nodes %v, want %s", file, m.Nodes, got, want)
		}
	case m.Packages == Unknown:
		if !slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.Contains(w, "packages") }) {
			t.Errorf("%s: packages are not told, and no warning says so: %v", file, m.Warnings)
		}
		if listed {
			t.Errorf("%s: packages are not told, want %s", file, want)
		}
	case strconv.Itoa(m.Packages) != count:
		t.Errorf("%s: %d packages, want %s", file, m.Packages, want)
	case listed:
		if got := groupsOf(m, func(c CPU) int { return c.Package }); !slices.Equal(sorted(got), sorted(strings.Split(groups, ";"))) {
			t.Errorf("%s: packages %v, want %s", file, got, want)
		}
	}
}

func nodeGroups(m *Machine) []string {
	var groups []string
	for _, node := range m.NodeNumbers {
		groups = append(groups, affinity.FormatList(m.numbers(func(c CPU) bool { return c.Node == node })))
	}
	return groups
}

// TestFreeBSD15 reads the texts that were recorded in known shapes. Siblings
// show only where the kernel saw them.
func TestFreeBSD15(t *testing.T) {
	files, _ := filepath.Glob("testdata/machines/freebsd15/*.xml")
	if len(files) != 10 {
		t.Fatalf("%d recordings, want 10", len(files))
	}
	shape := regexp.MustCompile(`ule-(amd|intel)-s(\d+)(?:d(\d+))?c(\d+)t(\d+)`)
	for _, file := range files {
		m, err := FromFile(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		parts := shape.FindStringSubmatch(file)
		number := func(i int) int { n, _ := strconv.Atoi(parts[i]); return max(1, n) }
		groups, cores, threads := number(2)*number(3), number(4), number(5)
		if len(m.Online()) != groups*cores*threads {
			t.Errorf("%s: %d CPUs", file, len(m.Online()))
		}
		if parts[1] == "amd" { // that model shows the kernel cores where it has threads
			cores, threads = cores*threads, 1
		}
		if m.Cores != groups*cores || m.ThreadsPerCore != threads {
			t.Errorf("%s: %d cores of %d threads", file, m.Cores, m.ThreadsPerCore)
		}
		if caches := groupsOf(m, func(c CPU) int { return c.LLC }); groups*cores*threads > 1 && len(caches) != groups {
			t.Errorf("%s: last-level caches %v, want %d", file, caches, groups)
		}
		if groups > 1 && m.Packages != Unknown {
			t.Errorf("%s: %d packages, though dies and packages look the same in it", file, m.Packages)
		} else if groups == 1 && m.Packages != 1 {
			t.Errorf("%s: %d packages, want 1", file, m.Packages)
		}
	}
}

// TestSysctls reads recorded kernels: ULE with a tree, 4BSD without.
func TestSysctls(t *testing.T) {
	opteron, _ := readLeaves(t, "testdata/cpuid/opteron-4s2c.txt")
	htt, _ := readLeaves(t, "testdata/cpuid/htt-xeon-2s1c2t.txt")
	read := func(name string) *sysctl.Recorded {
		text, err := os.ReadFile("../sysctl/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return sysctl.Parse(string(text))
	}
	for _, c := range []struct {
		name                 string
		reader               sysctl.Reader
		answers              map[int]leaves
		packages, cores, smt int
		llcs                 string
		warned               string
	}{
		{"ULE", read("ule.txt"), nil, Unknown, 8, 1, "0,1;2,3;4,5;6,7", "packages"},
		{"ULE and CPUID", read("ule.txt"), opteron, 4, 8, 1, "0,1;2,3;4,5;6,7", ""},
		{"4BSD", read("4bsd.txt"), nil, Unknown, 8, 1, "", "no tree of CPUs"},
		{"4BSD and CPUID", read("4bsd.txt"), opteron, 4, 8, 1, "", ""},
		{"4BSD, threads, no CPUID", sysctl.Parse("hw.ncpu: 4\nkern.smp.threads_per_core: 2\n"), nil, Unknown, Unknown, Unknown, "", "no tree of CPUs"},
		{"4BSD, threads, CPUID", sysctl.Parse("hw.ncpu: 4\nkern.smp.threads_per_core: 2\n"), htt, 2, 2, 2, "0,1;2,3", ""},
	} {
		m, err := fromSysctls(c.reader, c.answers, c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.Packages != c.packages || m.Cores != c.cores || m.ThreadsPerCore != c.smt {
			t.Errorf("%s: %d packages, %d cores of %d threads", c.name, m.Packages, m.Cores, m.ThreadsPerCore)
		}
		if got := strings.Join(groupsOf(m, func(c CPU) int { return c.LLC }), ";"); got != c.llcs {
			t.Errorf("%s: last-level caches %s, want %s", c.name, got, c.llcs)
		}
		told := slices.ContainsFunc(m.Warnings, func(w string) bool { return c.warned != "" && strings.Contains(w, c.warned) })
		if told != (c.warned != "") {
			t.Errorf("%s: warnings %q, want one of %q", c.name, m.Warnings, c.warned)
		}
	}
	// 4BSD of a kernel that could have been ULE.
	m, err := fromSysctls(sysctl.Parse("hw.ncpu: 2\nkern.sched.topology_spec: <groups>\n <group level=\"1\" cache-level=\"1\">\n </group>\n</groups>\n"), nil, "16")
	if err != nil || len(m.Online()) != 2 || slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.Contains(w, "topology_spec") }) {
		t.Errorf("a text without CPUs: %+v (%v)", m, err)
	}
	if _, err := fromSysctls(sysctl.Parse("kern.ostype: FreeBSD\n"), nil, "empty"); err == nil {
		t.Error("a machine was made of nothing")
	}
}

func TestSysctlsAsAFile(t *testing.T) {
	for _, file := range []string{"../sysctl/testdata/ule.txt", "../sysctl/testdata/4bsd.txt"} {
		if m, err := FromFile(file); err != nil || len(m.Online()) != 8 || m.Cores != 8 {
			t.Errorf("%s: %+v (%v)", file, m, err)
		}
	}
}

// TestDomains: the devices' domains outrank the tree's, and holes in the CPU
// numbers are seen by the devices.
func TestDomains(t *testing.T) {
	m, err := fromSysctls(sysctl.Parse(`hw.ncpu: 4
kern.smp.maxid: 5
kern.smp.threads_per_core: 1
vm.ndomains: 2
vm.phys_locality: 
0: 10 21 
1: 21 10 
dev.cpu.0.%driver: cpu
dev.cpu.0.%domain: 1
dev.cpu.2.%driver: cpu
dev.cpu.2.%domain: 1
dev.cpu.3.%driver: cpu
dev.cpu.3.%domain: 0
dev.cpu.5.%driver: cpu
dev.cpu.5.%domain: 0
`), nil, "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if got := nodeGroups(m); !slices.Equal(got, []string{"3,5", "0,2"}) {
		t.Errorf("domains hold %v", got)
	}
	if d, told := m.NodeDistance(0, 5); !told || d != 21 {
		t.Errorf("distance %d, %v", d, told)
	}
	// A device that tells nothing leaves the domains untold, with a warning.
	m, err = fromSysctls(sysctl.Parse("hw.ncpu: 2\nvm.ndomains: 2\ndev.cpu.0.%domain: 0\n"), nil, "recorded")
	if err != nil || len(m.NodeNumbers) != 0 || len(m.Warnings) == 0 {
		t.Errorf("nodes %v, warnings %v (%v)", m.NodeNumbers, m.Warnings, err)
	}
}

func TestSpecTextsThatLie(t *testing.T) {
	for _, text := range []string{
		"", "<groups></groups>", "<groups><group", "<groups><group><cpu mask=\"zz\">0</cpu></group></groups>",
		`<groups><group cache-level="0"><cpu count="2" mask="3">0, 2</cpu></group></groups>`,
		`<groups><group><cpu mask="1">0</cpu><children><group><cpu mask="2">1</cpu></group></children></group></groups>`,
	} {
		if m, err := fromSpecText(text, "text"); err == nil {
			t.Errorf("%q was read as %+v", text, m)
		}
	}
}

func FuzzSpecText(f *testing.F) {
	files, _ := filepath.Glob("testdata/machines/freebsd*/*.xml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := fromSpecText(text, "fuzz"); err == nil {
			sound(t, m)
		}
	})
}
