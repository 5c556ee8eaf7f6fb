package topology

import (
	"runtime"

	"udsbench/affinity"
)

// cpuid is the instruction, on whatever CPU the caller runs.
//
//go:noescape
func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

// askCPUID asks each of the CPUs that this process may pin itself to. The
// thread gets its mask back: it may be the first one, whose mask counts as the
// process's.
func askCPUID(cpus []int) map[int]leaves {
	answers := make(map[int]leaves)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := affinity.Mask()
	if err != nil {
		return nil
	}
	defer affinity.Pin(before)
	for _, c := range cpus {
		if affinity.Pin([]int{c}) == nil {
			answers[c] = ask()
		}
	}
	return answers
}

// ask reads the leaves that tell of topology.
func ask() leaves {
	l := make(leaves)
	read := func(leaf uint32, subs uint32) {
		for sub := range subs {
			a, b, c, d := cpuid(leaf, sub)
			l[[2]uint32{leaf, sub}] = registers{a, b, c, d}
		}
	}
	read(leafVendor, 1)
	read(leafFeatures, 1)
	last := l[[2]uint32{leafVendor, 0}].a
	for _, leaf := range []uint32{leafCaches, leafTopology, leafTopologyV2} {
		if leaf <= last {
			read(leaf, subleaves)
		}
	}
	read(leafExtended, 1)
	extended := l[[2]uint32{leafExtended, 0}].a
	for _, leaf := range []uint32{leafExtFeature, leafCores, leafUnits} {
		if leaf <= extended {
			read(leaf, 1)
		}
	}
	if leafCachesAMD <= extended {
		read(leafCachesAMD, subleaves)
	}
	return l
}
