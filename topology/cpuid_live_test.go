//go:build linux

package topology

import (
	"runtime"
	"slices"
	"testing"
)

// TestLiveCPUID holds what CPUID says of this machine to what its kernel says.
func TestLiveCPUID(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("CPUID is x86's")
	}
	want, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	allowed := want.Allowed()
	answers := askCPUID(allowed)
	if len(answers) != len(allowed) {
		t.Fatalf("%d of %d CPUs answered", len(answers), len(allowed))
	}
	if len(allowed) < len(want.Online()) {
		t.Skip("this process may not ask all CPUs")
	}
	var cpus []CPU
	for _, n := range allowed {
		cpus = append(cpus, unknownCPU(n, true))
	}
	if err := shapeByCPUID(cpus, answers); err != nil {
		t.Fatal(err)
	}
	got, err := assemble(cpus, nil, nil, "CPUID", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, level := range map[string]func(CPU) int{"packages": func(c CPU) int { return c.Package }, "cores": func(c CPU) int { return c.Core }} {
		if g, w := groupsOf(got, level), groupsOf(want, level); !slices.Equal(g, w) {
			t.Errorf("%s by CPUID %v, by the kernel %v", name, g, w)
		}
	}
}

// What was made of the answers may be nonsense, but never a crash.
func FuzzCPUID(f *testing.F) {
	f.Add(uint32(0xb), uint32(0x68747541), uint32(0x00800800), uint32(1<<28), uint32(0x3000), uint32(1<<22))
	f.Add(uint32(0x1f), uint32(0x756e6547), uint32(0x00040800), uint32(1<<28), uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, last, vendor, ids, features, sizes, extended uint32) {
		l := leaves{
			{leafVendor, 0}: {a: last, b: vendor}, {leafFeatures, 0}: {b: ids, d: features}, {leafCaches, 0}: {a: sizes}, {leafCaches, 1}: {a: ids},
			{leafTopology, 0}: {a: sizes, b: features, c: ids}, {leafExtended, 0}: {a: leafUnits}, {leafExtFeature, 0}: {c: extended},
			{leafCores, 0}: {c: sizes}, {leafUnits, 0}: {b: sizes}, {leafCachesAMD, 0}: {a: sizes},
		}
		cpus := []CPU{unknownCPU(0, true)}
		if err := shapeByCPUID(cpus, map[int]leaves{0: l}); err == nil {
			if m, err := assemble(cpus, nil, nil, "fuzz", nil); err == nil {
				sound(t, m)
			}
		}
	})
}
