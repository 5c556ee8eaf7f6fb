package topology

import (
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
)

// cpuInfo is what /proc/cpuinfo tells of the machine's shape. Absent fields
// are Unknown. The meaning of the fields is in arch/x86/kernel/cpu/proc.c.
type cpuInfo struct {
	vendor        string
	family, model int
	processors    []processor
}

type processor struct {
	number   int
	physical int // physical id
	siblings int // CPUs of the package
	core     int // core id
	cores    int // cores of the package
}

// parseCPUInfo reads the blocks of /proc/cpuinfo. Fields that it does not
// know, comments and broken lines are passed over. Kernels that print no
// "processor" lines (alpha) run one CPU.
func parseCPUInfo(text string) cpuInfo {
	info := cpuInfo{family: Unknown, model: Unknown}
	var current *processor
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		name, value = strings.TrimSpace(name), strings.Trim(value, " \t\n\x00")
		if name == "vendor_id" && info.vendor == "" {
			info.vendor = value
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > affinity.MaxCPU {
			continue
		}
		switch name {
		case "processor":
			info.processors = append(info.processors, processor{n, Unknown, Unknown, Unknown, Unknown})
			current = &info.processors[len(info.processors)-1]
		case "cpu family":
			info.family = n
		case "model":
			info.model = n
		}
		if current == nil {
			continue
		}
		switch name {
		case "physical id":
			current.physical = n
		case "siblings":
			current.siblings = n
		case "core id":
			current.core = n
		case "cpu cores":
			current.cores = n
		}
	}
	if len(info.processors) == 0 && strings.Contains(text, ":") {
		info.processors = []processor{{0, Unknown, Unknown, Unknown, Unknown}}
	}
	return info
}

func (info cpuInfo) count() int { return len(info.processors) }

// readCPUInfo makes a machine of /proc/cpuinfo alone.
func readCPUInfo(t tree, info cpuInfo, source string) (*Machine, error) {
	r := &sysfsReader{tree: t, info: info, source: source, at: make(map[int]int)}
	byPackage := make(map[int][]processor)
	slices.SortFunc(info.processors, func(a, b processor) int { return a.number - b.number })
	for _, p := range info.processors {
		if _, twice := r.at[p.number]; twice {
			continue
		}
		r.at[p.number] = len(r.cpus)
		r.cpus = append(r.cpus, unknownCPU(p.number, true))
		if p.physical != Unknown {
			byPackage[p.physical] = append(byPackage[p.physical], p)
		}
	}
	for _, cpus := range byPackage {
		r.packagesOf(cpus)
	}
	if len(r.cpus) == 1 {
		r.cpus[0].Package, r.cpus[0].Core = 0, 0
	}
	nodes, distances := r.readNodes()
	r.markAllowed()
	r.warn("only proc/cpuinfo tells of this machine's CPUs: caches are not known")
	return assemble(r.cpus, nodes, distances, source, r.warnings)
}

// packagesOf takes the CPUs of one physical id for a package. Where there are
// more than a package is said to have, the id is given to several machines
// that run as one: each takes its share in the order of the numbers.
func (r *sysfsReader) packagesOf(cpus []processor) {
	size := cpus[0].siblings
	if size == Unknown || size == 0 || len(cpus) <= size || len(cpus)%size != 0 {
		r.coresOf(cpus)
		return
	}
	r.warn("physical id %d is borne by %d CPUs though a package has %d: they are taken for %d packages in the order of their numbers",
		cpus[0].physical, len(cpus), size, len(cpus)/size)
	for share := range slices.Chunk(cpus, size) {
		r.coresOf(share)
	}
}

// coresOf sorts the CPUs of one package into cores. Kernels before 2.6.13 tell
// no core id, and knew no processors with several cores: all are threads of one.
// Where ids repeat within the package (two dies), siblings over cores says how
// many threads a core really has.
func (r *sysfsReader) coresOf(cpus []processor) {
	byID := make(map[int][]int)
	for _, p := range cpus {
		c := &r.cpus[r.at[p.number]]
		c.Package = cpus[0].number
		byID[p.core] = append(byID[p.core], p.number)
	}
	width := Unknown
	if p := cpus[0]; p.siblings > 0 && p.cores > 0 {
		width = max(1, p.siblings/p.cores)
	}
	for _, numbers := range byID {
		if width == Unknown || len(numbers) <= width {
			r.join(coreOf, numbers[0], numbers)
			continue
		}
		for share := range slices.Chunk(numbers, width) {
			r.join(coreOf, share[0], share)
		}
	}
}
