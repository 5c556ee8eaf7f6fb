package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"udsbench/affinity"
)

// readLeaves reads recorded answers of CPUID: a line "cpu leaf subleaf eax
// ebx ecx edx" each, all but the CPU and the subleaf in hexadecimal, and lines
// "# level groups" of what a kernel made of them.
func readLeaves(t testing.TB, path string) (map[int]leaves, map[string]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	answers, remarks := make(map[int]leaves), make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if remark, found := strings.CutPrefix(line, "# "); found {
			name, value, _ := strings.Cut(strings.TrimSpace(remark), " ")
			remarks[name] = value
			continue
		}
		var cpu int
		var leaf, sub uint32
		var r registers
		if _, err := fmt.Sscanf(line, "%d %x %d %x %x %x %x", &cpu, &leaf, &sub, &r.a, &r.b, &r.c, &r.d); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		if answers[cpu] == nil {
			answers[cpu] = make(leaves)
		}
		answers[cpu][[2]uint32{leaf, sub}] = r
	}
	return answers, remarks
}

// TestRecordedCPUID compares with what a Linux kernel made of the same leaves.
func TestRecordedCPUID(t *testing.T) {
	files, _ := filepath.Glob("testdata/cpuid/*.txt")
	if len(files) < 5 {
		t.Fatalf("only %d recordings", len(files))
	}
	for _, file := range files {
		answers, want := readLeaves(t, file)
		var cpus []CPU
		for n := range len(answers) {
			cpus = append(cpus, unknownCPU(n, true))
		}
		if err := shapeByCPUID(cpus, answers); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		m, err := assemble(cpus, nil, nil, file, nil)
		if err != nil {
			t.Fatal(err)
		}
		untold := strings.Fields(want["untold"])
		for level, number := range map[string]func(CPU) int{
			"packages": func(c CPU) int { return c.Package }, "dies": func(c CPU) int { return c.Die },
			"cores": func(c CPU) int { return c.Core }, "l2": func(c CPU) int { return c.L2 }, "l3": func(c CPU) int { return c.LLC },
		} {
			var kernel []string
			for group := range strings.SplitSeq(want[level], ";") {
				cpus, err := affinity.ParseList(group)
				if err != nil {
					t.Fatal(err)
				}
				kernel = append(kernel, affinity.FormatList(cpus))
			}
			got, kernel := sorted(groupsOf(m, number)), sorted(kernel)
			if slices.Contains(untold, level) {
				if len(got) > 0 {
					t.Errorf("%s: %s are told after all: %v", file, level, got)
				}
				continue
			}
			if !slices.Equal(got, kernel) {
				t.Errorf("%s: %s: got %v, the kernel says %v", file, level, got, kernel)
			}
		}
	}
}
