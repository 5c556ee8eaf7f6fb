package topology

import (
	"fmt"
	"math/bits"
)

// registers are what the CPUID instruction leaves in EAX, EBX, ECX and EDX.
type registers struct{ a, b, c, d uint32 }

// leaves are CPUID's answers on one CPU, by leaf and subleaf.
type leaves map[[2]uint32]registers

// The leaves that tell of topology: Intel SDM volume 2A, CPUID, and volume
// 3A, "Detecting Hardware Multi-Threading Support and Topology"; AMD64 APM
// volume 3, appendix E.
const (
	leafVendor     = 0x0
	leafFeatures   = 0x1
	leafCaches     = 0x4        // Intel
	leafTopology   = 0xb        // x2APIC
	leafTopologyV2 = 0x1f       // with dies
	leafExtended   = 0x80000000 //
	leafExtFeature = 0x80000001
	leafCores      = 0x80000008 // AMD
	leafCachesAMD  = 0x8000001d
	leafUnits      = 0x8000001e // AMD: threads of a core

	subleaves = 8 // of those leaves that have several: enough for every level known
)

// place is where a CPU stands: its APIC id, and how far to shift it to get the
// number of its core, die, package and caches. Unknown is not told.
type place struct {
	apic                    uint32
	core, die, pkg, l2, llc int
	llcLevel                int
}

// decode reads where the CPU stands from its answers.
func (l leaves) decode() (place, error) {
	p := place{core: Unknown, die: Unknown, pkg: Unknown, l2: Unknown, llc: Unknown}
	vendor, told := l[[2]uint32{leafVendor, 0}]
	features := l[[2]uint32{leafFeatures, 0}]
	if !told || vendor.a < 1 {
		return p, fmt.Errorf("CPUID tells nothing of this CPU's place")
	}
	amd := vendor.b == 0x68747541 || vendor.b == 0x6f677948 // "Auth"enticAMD, "Hygo"nGenuine
	p.apic = features.b >> 24
	extensions := !amd || l[[2]uint32{leafExtFeature, 0}].c&(1<<22) != 0 // AMD: TopologyExtensions
	if !extensions || !l.byLevels(&p, vendor.a) {
		l.byCounts(&p, vendor.a, amd)
	}
	if extensions {
		l.caches(&p, vendor.a, amd)
	}
	return p, nil
}

// byLevels follows leaf 1Fh or Bh (AMD's is believed only beside its topology
// extensions, as kernels do), where each subleaf names a level and how
// far to shift the id to leave it.
func (l leaves) byLevels(p *place, last uint32) bool {
	const threads, die = 1, 5
	for _, leaf := range []uint32{leafTopologyV2, leafTopology} {
		if last < leaf || l[[2]uint32{leaf, 0}].b == 0 {
			continue
		}
		shift := 0
		for sub := range uint32(subleaves) {
			r := l[[2]uint32{leaf, sub}]
			kind := r.c >> 8 & 0xff
			if kind == 0 {
				break
			}
			if kind == die {
				p.die = shift
			}
			shift = int(r.a & 0x1f)
			if kind == threads {
				p.core = shift
			}
			p.apic = r.d
		}
		if p.core == Unknown {
			p.core = 0
		}
		p.pkg = shift
		return true
	}
	return false
}

// byCounts is for processors before x2APIC: the id's low bits are as many as
// are needed to number the threads and cores of a package.
func (l leaves) byCounts(p *place, last uint32, amd bool) {
	features := l[[2]uint32{leafFeatures, 0}]
	logical := 1
	if features.d&(1<<28) != 0 { // HTT: the count of ids in a package is valid
		logical = max(1, int(features.b>>16&0xff))
	}
	extended := l[[2]uint32{leafExtended, 0}].a
	if amd {
		p.pkg, p.core = width(logical), 0
		if extended >= leafCores {
			sizes := l[[2]uint32{leafCores, 0}].c
			if p.pkg = int(sizes >> 12 & 0xf); p.pkg == 0 {
				p.pkg = width(int(sizes&0xff) + 1)
			}
		}
		family := features.a >> 8 & 0xf
		if family == 0xf {
			family += features.a >> 20 & 0xff
		}
		// Before Zen the units of this leaf are modules of several cores.
		if extended >= leafUnits && family >= 0x17 && l[[2]uint32{leafExtFeature, 0}].c&(1<<22) != 0 {
			p.core = width(int(l[[2]uint32{leafUnits, 0}].b>>8&0xff) + 1)
		}
		return
	}
	cores := 1
	if last >= leafCaches {
		cores = int(l[[2]uint32{leafCaches, 0}].a>>26) + 1
	}
	p.pkg = width(logical)
	p.core = max(0, p.pkg-width(cores))
}

// caches finds how many ids share the second level and the last one.
func (l leaves) caches(p *place, last uint32, amd bool) {
	leaf := uint32(leafCaches)
	if amd {
		leaf = leafCachesAMD
		if l[[2]uint32{leafExtended, 0}].a < leaf {
			return
		}
	} else if last < leaf {
		return
	}
	for sub := range uint32(subleaves) {
		a := l[[2]uint32{leaf, sub}].a
		const instructions = 2
		kind, level := a&0x1f, int(a>>5&7)
		if kind == 0 {
			break
		}
		if kind == instructions || level < 2 {
			continue
		}
		shift := width(int(a>>14&0xfff) + 1)
		if level == 2 {
			p.l2 = shift
		}
		if level > p.llcLevel {
			p.llc, p.llcLevel = shift, level
		}
	}
}

// width is how many bits number n things.
func width(n int) int { return bits.Len(uint(n - 1)) }

// shapeByCPUID fills those levels that no CPU tells yet from the answers of
// each CPU. CPUs that could not be asked (outside the cpuset) keep what they
// have. It is an error if the answers contradict each other.
func shapeByCPUID(cpus []CPU, answers map[int]leaves) error {
	places := make(map[int]place)
	seen := make(map[uint32]int)
	for _, c := range cpus {
		l, asked := answers[c.CPU]
		if !asked {
			continue
		}
		p, err := l.decode()
		if err != nil {
			return fmt.Errorf("CPU %d: %w", c.CPU, err)
		}
		if other, twice := seen[p.apic]; twice {
			return fmt.Errorf("CPUs %d and %d give the same APIC id %d", other, c.CPU, p.apic)
		}
		seen[p.apic] = c.CPU
		places[c.CPU] = p
	}
	fill := func(number func(*CPU) *int, shift func(place) int) {
		for i := range cpus {
			if *number(&cpus[i]) != Unknown {
				return
			}
		}
		groups := make(map[[2]uint32]int)
		for i := range cpus {
			p, asked := places[cpus[i].CPU]
			if !asked || shift(p) == Unknown {
				continue
			}
			k := [2]uint32{p.apic >> shift(p), uint32(shift(p))}
			if _, found := groups[k]; !found {
				groups[k] = i
			}
			*number(&cpus[i]) = groups[k]
		}
	}
	fill(packageOf, func(p place) int { return p.pkg })
	fill(dieOf, func(p place) int { return p.die })
	fill(coreOf, func(p place) int { return p.core })
	fill(l2Of, func(p place) int { return p.l2 })
	fill(llcOf, func(p place) int { return p.llc })
	return nil
}
