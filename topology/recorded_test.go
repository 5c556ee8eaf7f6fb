package topology

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"udsbench/affinity"
)

// fixtureDirs are the places of recorded machines: those that come with the
// project, and a fuller set beside the checkout where there is one.
func fixtureDirs(t testing.TB) []string {
	t.Helper()
	dirs := []string{"testdata/machines"}
	if _, err := os.Stat("../../shared/topologies/EXPECTED.tsv"); err == nil {
		dirs = append(dirs, "../../shared/topologies")
	}
	return dirs
}

// readTSV returns the rows of a table by column name.
func readTSV(t testing.TB, path string) []map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var table []map[string]string
	for _, row := range rows[1:] {
		named := make(map[string]string)
		for i, name := range rows[0] {
			named[name] = row[i]
		}
		table = append(table, named)
	}
	return table
}

// TestRecordedMachines holds the reader to what hwloc says of real machines.
func TestRecordedMachines(t *testing.T) {
	for _, dir := range fixtureDirs(t) {
		rows := readTSV(t, filepath.Join(dir, "EXPECTED.tsv"))
		seen := 0
		for _, row := range rows {
			path := filepath.Join(dir, "linux", row["name"])
			if row["form"] != "dir" {
				path += "." + row["form"]
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: listed, but not there", path)
				continue
			}
			seen++
			t.Run(filepath.Base(dir)+"/"+row["name"], func(t *testing.T) {
				t.Parallel()
				m, err := FromFile(path)
				if err != nil {
					t.Fatal(err)
				}
				agree(t, m, row)
			})
		}
		if seen == 0 {
			t.Errorf("%s: no machine was read", dir)
		}
	}
}

// agree checks every column that binds: "-" was not recorded, "unknown"
// cannot be known.
func agree(t *testing.T, m *Machine, row map[string]string) {
	t.Helper()
	binds := func(column string) bool { return row[column] != "-" && row[column] != "unknown" }
	number := func(column string, got int) {
		if binds(column) && row[column] != strconv.Itoa(got) {
			t.Errorf("%s: got %d, want %s", column, got, row[column])
		} else if row[column] == "unknown" && got != Unknown {
			t.Errorf("%s: got %d for what cannot be known", column, got)
		}
	}
	list := func(column string, got []int) {
		if binds(column) && row[column] != affinity.FormatList(got) {
			t.Errorf("%s: got %s, want %s", column, affinity.FormatList(got), row[column])
		}
	}
	groups := func(column string, level func(CPU) int) {
		got := groupsOf(m, level)
		if !binds(column) {
			return
		}
		if want := strings.Split(row[column], ";"); !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("%s: got %s, want %s", column, strings.Join(got, ";"), row[column])
		}
	}
	list("cpus_online", m.Online())
	number("n_online", len(m.Online()))
	list("cpus_allowed", m.Allowed())
	number("sockets", m.Packages)
	groups("socket_groups", func(c CPU) int { return c.Package })
	number("cores", m.Cores)
	groups("core_groups", func(c CPU) int { return c.Core })
	groups("l2_groups", func(c CPU) int { return c.L2 })
	if binds("l3_groups") {
		groups("l3_groups", func(c CPU) int { return c.LLC })
	}
	if _, widest, isRange := strings.Cut(row["smt_width"], "-"); isRange && widest != "" {
		row["smt_width"] = widest
	}
	number("smt_width", m.ThreadsPerCore)
	agreeOnNodes(t, m, row)
	agreeOnKinds(t, m, row)
}

// agreeOnNodes compares nodes by the CPUs that they hold. hwloc also counts
// nodes of memory alone, and gives some of them the CPUs of their neighbours;
// here they are MemoryNodes.
func agreeOnNodes(t *testing.T, m *Machine, row map[string]string) {
	t.Helper()
	if row["node_groups"] != "-" {
		var got, want []string
		for _, node := range m.NodeNumbers {
			got = append(got, strconv.Itoa(node)+":"+affinity.FormatList(m.numbers(func(c CPU) bool { return c.Node == node })))
		}
		memoryOnly := make(map[string]bool)
		for _, node := range m.MemoryNodes {
			memoryOnly[strconv.Itoa(node)] = true
		}
		for _, group := range strings.Split(row["node_groups"], ";") {
			if node, _, _ := strings.Cut(group, ":"); !memoryOnly[node] {
				want = append(want, group)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("node_groups: got %s, want %s", strings.Join(got, ";"), row["node_groups"])
		}
	}
	want, err := strconv.Atoi(row["numa_nodes"])
	if err != nil {
		return
	}
	// hwloc knows the memory of graphics cards, which no file here tells, and hides it.
	if m.Nodes != want && m.Nodes+len(m.MemoryNodes) != want {
		t.Errorf("numa_nodes: got %d with CPUs and %d of memory alone, want %d", m.Nodes, len(m.MemoryNodes), want)
	}
}

func agreeOnKinds(t *testing.T, m *Machine, row map[string]string) {
	t.Helper()
	var got []string
	for kind := 0; ; kind++ {
		cpus := m.numbers(func(c CPU) bool { return c.Kind == kind })
		if len(cpus) == 0 {
			break
		}
		k := strconv.Itoa(kind)
		got = append(got, "kind"+k+"(eff "+k+"):"+affinity.FormatList(cpus))
	}
	if text := strings.Join(got, ";"); row["kinds"] != "-" && text != row["kinds"] || row["kinds"] == "-" && text != "" {
		t.Errorf("kinds: got %q, want %q", text, row["kinds"])
	}
}

// groupsOf writes the groups of a level as the table does.
func groupsOf(m *Machine, level func(CPU) int) []string {
	byGroup := make(map[int][]int)
	for _, c := range m.CPUs {
		if g := level(c); c.Online && g != Unknown {
			byGroup[g] = append(byGroup[g], c.CPU)
		}
	}
	var groups []string
	for g := range len(byGroup) {
		groups = append(groups, affinity.FormatList(byGroup[g]))
	}
	return groups
}

func sorted(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }
