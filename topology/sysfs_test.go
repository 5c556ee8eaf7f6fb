package topology

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"udsbench/affinity"
)

// recordedTree opens an archive as files that a test may change.
func recordedTree(t testing.TB, name string) archiveTree {
	t.Helper()
	data, err := os.ReadFile("testdata/machines/linux/" + name + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	files, err := readArchive(data)
	if err != nil {
		t.Fatal(err)
	}
	return files.(archiveTree)
}

func placed(t *testing.T, m *Machine, name string, pairs int) []int {
	t.Helper()
	p, err := m.Place(name, pairsOf(pairs))
	if err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for _, w := range p.Workers {
		cpus = append(cpus, w.CPU)
	}
	return cpus
}

func TestOfflineAndRestricted(t *testing.T) {
	m, err := readTree(recordedTree(t, "vm-opteron-4s2c-cpuset"), "recorded")
	if err != nil {
		t.Fatal(err)
	}
	for cpu, want := range map[int]string{3: "CPU 3 is offline", 4: "CPU 4 is outside the cpuset", 8: "CPU 8 is not present"} {
		_, err := m.Place(fmt.Sprintf("cpus=0+%d", cpu), pairsOf(1))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "choose among 0-2,5-7") {
			t.Errorf("a placement on CPU %d: %v", cpu, err)
		}
	}
	for _, name := range everyPlacement {
		p, err := m.Place(name, pairsOf(10))
		if err != nil {
			continue
		}
		for _, w := range p.Workers {
			if w.CPU == 3 || w.CPU == 4 {
				t.Errorf("%s: %s %d on CPU %d", name, w.Role, w.Index, w.CPU)
			}
		}
	}
}

func TestCpusetWithoutCPU0(t *testing.T) {
	files := recordedTree(t, "vm-htt-xeon-2s2c2t")
	files["proc/self/status"] = []byte("Name:\tudsbench\nCpus_allowed:\tf2\nCpus_allowed_list:\t1,4-7\n")
	m, err := readTree(files, "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if got := affinity.FormatList(m.Allowed()); got != "1,4-7" {
		t.Errorf("allowed %s", got)
	}
	if got := placed(t, m, "smt", 2); !slices.Equal(got, []int{4, 5, 6, 7}) {
		t.Errorf("smt: %v", got)
	}
	if got := placed(t, m, "cross", 1); !slices.Equal(got, []int{1, 4}) && !slices.Equal(got, []int{4, 1}) {
		t.Errorf("cross: %v", got)
	}
	// Old kernels print the mask alone.
	files["proc/self/status"] = []byte("Cpus_allowed:\tf2\n")
	if m, err = readTree(files, "recorded"); err != nil || affinity.FormatList(m.Allowed()) != "1,4-7" {
		t.Errorf("from the mask: %v (%v)", m.Allowed(), err)
	}
	// A mask that leaves nothing is said, and nothing is placed.
	files["proc/self/status"] = []byte("Cpus_allowed_list:\t100\n")
	if m, err = readTree(files, "recorded"); err != nil || len(m.Warnings) == 0 {
		t.Fatalf("%v (%v)", m, err)
	}
	if _, err := m.Place("spread", pairsOf(1)); err == nil {
		t.Error("workers were placed on no CPU")
	}
}

func TestSMTSwitchedOff(t *testing.T) {
	m, err := readTree(recordedTree(t, "vm-htt-xeon-2s2c2t-nosmt"), "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if got := affinity.FormatList(m.Online()); got != "0,2,4,6" || len(m.CPUs) != 8 || m.ThreadsPerCore != 1 {
		t.Errorf("online %s of %d, %d threads a core", got, len(m.CPUs), m.ThreadsPerCore)
	}
	if _, err := m.Place("smt", pairsOf(1)); err == nil || !strings.Contains(err.Error(), "no SMT siblings") {
		t.Errorf("smt: %v", err)
	}
	if _, err := m.Place("cpus=1", pairsOf(1)); err == nil || !strings.Contains(err.Error(), "CPU 1 is offline") {
		t.Errorf("cpus=1: %v", err)
	}
	if got := placed(t, m, "core", 2); !slices.Equal(got, []int{0, 2, 4, 6}) {
		t.Errorf("core: %v", got)
	}
}

// highTree is a machine of two packages with two threads each, at any numbers.
func highTree(a, b, c, d int) archiveTree {
	mask := func(cpus ...int) []byte {
		words := make([]uint32, slices.Max(cpus)/32+1)
		for _, n := range cpus {
			words[len(words)-1-n/32] |= 1 << (n % 32)
		}
		var text []string
		for _, w := range words {
			text = append(text, fmt.Sprintf("%08x", w))
		}
		return []byte(strings.Join(text, ",") + "\n")
	}
	files := archiveTree{cpuDir + "/online": []byte(fmt.Sprintf("%d,%d,%d,%d\n", a, b, c, d))}
	for _, core := range [][2]int{{a, b}, {c, d}} {
		for _, n := range core {
			files[cpuPath(n, "topology/thread_siblings")] = mask(core[:]...)
			files[cpuPath(n, "topology/core_siblings")] = mask(core[:]...)
			files[cpuPath(n, "topology/physical_package_id")] = []byte(fmt.Sprint(core[0], "\n"))
		}
	}
	return files
}

func TestHighNumbers(t *testing.T) {
	for _, numbers := range [][4]int{{0, 64, 1, 65}, {63, 64, 127, 128}, {1023, 1024, 1025, 5000}, {8190, 8191, 7, 70}} {
		m, err := readTree(highTree(numbers[0], numbers[1], numbers[2], numbers[3]), "recorded")
		if err != nil {
			t.Fatal(err)
		}
		if m.Packages != 2 || m.Cores != 2 || m.ThreadsPerCore != 2 {
			t.Errorf("%v: %d packages, %d cores of %d threads", numbers, m.Packages, m.Cores, m.ThreadsPerCore)
		}
		if got := m.Distance(numbers[0], numbers[1]); got != SMT {
			t.Errorf("%v: the threads of a core meet at %v", numbers, got)
		}
		got := placed(t, m, "cross", 2)
		slices.Sort(got)
		want := slices.Clone(numbers[:])
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("cross: %v, want all of %v", got, want)
		}
		name := fmt.Sprintf("cpus=%d", numbers[3])
		if got := placed(t, m, name, 1); got[0] != numbers[3] {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A directory and its archive are the same machine.
func TestDirectoryOrArchive(t *testing.T) {
	files := recordedTree(t, "16em64t-4s2c2t-offlines")
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fromDir, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	fromArchive, err := readTree(files, root)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromDir, fromArchive) {
		t.Errorf("directory: %+v\narchive: %+v", fromDir, fromArchive)
	}
}

func TestWhatIsNoMachine(t *testing.T) {
	empty := t.TempDir()
	text := filepath.Join(empty, "text")
	gzip := filepath.Join(empty, "broken.tar.gz")
	os.WriteFile(text, []byte("nothing of the kind\n"), 0o644)
	os.WriteFile(gzip, []byte{0x1f, 0x8b, 1, 2, 3}, 0o644)
	for _, path := range []string{empty, text, gzip, filepath.Join(empty, "absent"), "testdata/machines/README.md"} {
		if m, err := FromFile(path); err == nil {
			t.Errorf("%s was read as %+v", path, m)
		} else if !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: the error does not name it: %v", path, err)
		}
	}
	if _, err := Read(text); err == nil {
		t.Error("a file was read as a root directory")
	}
}

// The cpuset of a group that has none of its own is that of the nearest above.
func TestCgroupCpusets(t *testing.T) {
	base := archiveTree{
		"proc/mounts":      []byte("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
		"proc/self/cgroup": []byte("0::/a/b/c\n"),
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"sys/fs/cgroup/a/cpuset.cpus.effective": "2-3\n", "sys/fs/cgroup/cpuset.cpus.effective": "0-7\n"}, "2,3"},
		{map[string]string{"sys/fs/cgroup/a/b/c/cpuset.cpus.effective": "5\n", "sys/fs/cgroup/a/cpuset.cpus.effective": "2-3\n"}, "5"},
		{map[string]string{"sys/fs/cgroup/cpuset.cpus.effective": "0-7\n"}, "0-7"},
		{map[string]string{"proc/self/status": "Cpus_allowed_list:\t1\n", "sys/fs/cgroup/cpuset.cpus.effective": "0-7\n"}, "1"},
		{map[string]string{"proc/mounts": "none /dev/cpuset cpuset rw 0 0\n", "proc/self/cpuset": "/x\n", "dev/cpuset/x/cpus": "4,6\n"}, "4,6"},
		{map[string]string{"proc/mounts": "c /cg cgroup rw,cpuset 0 0\n", "proc/self/cgroup": "3:cpu,cpuset:/y\n", "cg/y/cpuset.cpus": "0-1\n"}, "0,1"},
	} {
		files := maps.Clone(base)
		for name, content := range c.files {
			files[name] = []byte(content)
		}
		set, from, found := allowedCPUs(files)
		if got := affinity.FormatList(slices.Collect(maps.Keys(set))); !found || got != c.want {
			t.Errorf("%v: %s from %s, want %s", c.files, got, from, c.want)
		}
	}
	if _, _, found := allowedCPUs(base); found {
		t.Error("a cpuset was found where there is none")
	}
}

// The flag ht and several siblings are no SMT: siblings over cores is. Remarks
// and unknown fields are passed over.
func TestCPUInfoAlone(t *testing.T) {
	block := func(fields ...any) string {
		return fmt.Sprintf(strings.Repeat("%s\t: %v\n", len(fields)/2)+"\n", fields...)
	}
	for _, c := range []struct {
		what                     string
		text                     string
		packages, cores, threads int
	}{
		{"two cores with the flag ht",
			block("processor", 0, "physical id", 0, "siblings", 2, "core id", 0, "cpu cores", 2, "flags", "fpu ht") +
				"# a remark\ncpu MHz fiddled : 1\n" +
				block("processor", 1, "physical id", 0, "siblings", 2, "core id", 1, "cpu cores", 2, "flags", "fpu ht"), 1, 2, 1},
		{"one core of two threads before core ids",
			block("processor", 0, "physical id", 0, "siblings", 2) + block("processor", 1, "physical id", 0, "siblings", 2), 1, 1, 2},
		{"two dies with the same core ids in one package",
			block("processor", 0, "physical id", 0, "siblings", 2, "core id", 0, "cpu cores", 2) +
				block("processor", 1, "physical id", 0, "siblings", 2, "core id", 0, "cpu cores", 2), 1, 2, 1},
		{"nothing but numbers", block("processor", 0) + block("processor", 1), Unknown, Unknown, Unknown},
		{"one CPU", block("processor", 0), 1, 1, 1},
	} {
		m, err := readTree(archiveTree{"proc/cpuinfo": []byte(c.text)}, c.what)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.Packages != c.packages || m.Cores != c.cores || m.ThreadsPerCore != c.threads {
			t.Errorf("%s: %d packages, %d cores of %d threads", c.what, m.Packages, m.Cores, m.ThreadsPerCore)
		}
	}
}

func TestMasks(t *testing.T) {
	for mask, want := range map[string]string{
		"3": "0,1", "00000000,00000022": "1,5", "0000,00000000,00000000,00000000,00000000,0000ffff": "0-15",
		"1,00000000": "32", "ffff,ffffffff": "0-47", "00000000": "none", "80000000,00000000,00000000": "95",
	} {
		if got, err := parseMask(mask); err != nil || affinity.FormatList(got) != want {
			t.Errorf("%q: %v (%v), want %s", mask, got, err, want)
		}
	}
	for _, mask := range []string{"", "x", "1,,2", "123456789"} {
		if got, err := parseMask(mask); err == nil {
			t.Errorf("%q: %v", mask, got)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("00000000,00000022")
	f.Add("ffff,ffffffff")
	f.Fuzz(func(t *testing.T, mask string) {
		cpus, err := parseMask(mask)
		for _, c := range cpus {
			if err != nil || c < 0 {
				t.Fatal(c, err)
			}
		}
	})
}

func FuzzCPUInfo(f *testing.F) {
	for _, name := range []string{"post-htt-xeonmp-2s1c2t-mixed", "16em64t-2m4c2t", "1alpha", "8amd64-4n2c-cpuinfo-only"} {
		data, err := os.ReadFile(filepath.Join("testdata/machines/linux", name, "proc/cpuinfo"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := readTree(archiveTree{"proc/cpuinfo": data}, "fuzz"); err == nil {
			sound(t, m)
		}
	})
}

// FuzzTree puts any content into any of the files of a recorded tree.
func FuzzTree(f *testing.F) {
	files := recordedTree(f, "vm-htt-xeon-2s2c2t-maxcpus5")
	names := slices.Sorted(maps.Keys(files))
	f.Add(0, []byte("0-3,8\n"), 5, []byte("-1\n"))
	f.Add(7, []byte("ffffffff,00000000\x00"), 90, []byte(""))
	for i, name := range names {
		f.Add(i, files[name], len(names)-i, []byte("0"))
	}
	f.Fuzz(func(t *testing.T, i int, a []byte, j int, b []byte) {
		changed := maps.Clone(files)
		changed[names[uint(i)%uint(len(names))]] = a
		changed[names[uint(j)%uint(len(names))]] = b
		if m, err := readTree(changed, "fuzz"); err == nil {
			sound(t, m)
		}
	})
}

func FuzzArchive(f *testing.F) {
	for _, name := range []string{"2i386-2c-nohugepage", "8ia64-2s2c2t"} {
		data, err := os.ReadFile("testdata/machines/linux/" + name + ".tar.gz")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := readArchive(data)
		if err != nil {
			return
		}
		if m, err := readTree(files, "fuzz"); err == nil {
			sound(t, m)
		}
	})
}
