package topology

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"udsbench/affinity"
)

// TestLstopoFiles reads XML of both versions that lstopo wrote of recorded
// machines, which must give what the recordings themselves give.
func TestLstopoFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/lstopo/*.xml")
	if len(files) == 0 {
		t.Fatal("no file")
	}
	for _, file := range files {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".xml"), ".")
		got, err := FromFile(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want, err := FromFile("testdata/machines/linux/" + name + ".tar.gz")
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range want.CPUs {
			c.Die = got.CPUs[i].Die // hwloc leaves out dies that are whole packages
			if version == "v1" {
				c.Kind = Unknown // not in that version
			}
			if got.CPUs[i] != c {
				t.Errorf("%s: CPU %d: got %+v, want %+v", file, c.CPU, got.CPUs[i], c)
			}
		}
		if len(want.NodeNumbers) > 1 && !reflect.DeepEqual(got.Distances, want.Distances) || !slices.Equal(got.NodeNumbers, want.NodeNumbers) {
			t.Errorf("%s: nodes %v %v, want %v %v", file, got.NodeNumbers, got.Distances, want.NodeNumbers, want.Distances)
		}
	}
}

// TestLiveAgreesWithLstopo compares this machine with what hwloc sees of it.
func TestLiveAgreesWithLstopo(t *testing.T) {
	lstopo, err := exec.LookPath("lstopo-no-graphics")
	if err != nil {
		lstopo, err = exec.LookPath("lstopo")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("lstopo is not installed: apt-get install hwloc-nox")
		}
		t.Skip("lstopo is not installed")
	}
	cmd := exec.Command(lstopo, "--no-io", "--disallowed", "--of", "xml")
	cmd.Env = append(os.Environ(), "HWLOC_COMPONENTS=-x86") // the kernel's word, not what hwloc adds from CPUID
	written, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := fromLstopo(written, "lstopo")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []struct {
		name   string
		number func(CPU) int
	}{
		{"package", func(c CPU) int { return c.Package }}, {"core", func(c CPU) int { return c.Core }}, {"L2", func(c CPU) int { return c.L2 }},
		{"last-level cache", func(c CPU) int { return c.LLC }}, {"allowed", func(c CPU) int {
			if c.Allowed {
				return 0
			}
			return Unknown
		}},
	} {
		if g, w := groupsOf(got, level.number), groupsOf(want, level.number); !slices.Equal(g, w) {
			t.Errorf("%s: got %v, lstopo says %v", level.name, g, w)
		}
	}
	if !slices.Equal(got.Online(), want.Online()) || got.Nodes != want.Nodes {
		t.Errorf("online %s, %d nodes; lstopo says %s, %d nodes", affinity.FormatList(got.Online()), got.Nodes, affinity.FormatList(want.Online()), want.Nodes)
	}
	if _, err := json.Marshal(Document{Machine: got}); err != nil {
		t.Error(err)
	}
}

func TestBitmaps(t *testing.T) {
	for text, want := range map[string]string{
		"0x00000003": "0,1", "0x1,0x00000000": "32", "0x1,,0x3": "0,1,64", "0xff": "0-7", "": "none",
	} {
		if cpus, err := parseBitmap(text); err != nil || affinity.FormatList(cpus) != want {
			t.Errorf("%q: %v (%v), want %s", text, cpus, err, want)
		}
	}
	if _, err := parseBitmap("0xf...f"); err == nil {
		t.Error("an infinite set was read")
	}
}

func FuzzLstopo(f *testing.F) {
	for _, name := range []string{"16em64t-4s2c2t-offlines.v1.xml", "vm-opteron-4s2c-cpuset.v2.xml"} {
		data, err := os.ReadFile("testdata/lstopo/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := fromLstopo(data, "fuzz"); err == nil {
			sound(t, m)
		}
	})
}
