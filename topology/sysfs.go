package topology

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
)

const (
	cpuDir  = "sys/devices/system/cpu"
	nodeDir = "sys/devices/system/node"
)

// Read reads a Linux machine from the tree under the directory root ("/" for
// this machine): sys/devices/system as the kernel documents it in
// Documentation/ABI/stable/sysfs-devices-system-cpu and admin-guide/cputopology,
// proc/cpuinfo where sysfs tells nothing, and from proc/self what the process
// may use.
//
// Sibling masks are believed before ids, for core_id is unique neither in a
// machine nor always in a package, and physical_package_id may be -1; and
// before the lists of the same name, which have been seen to disagree.
func Read(root string) (*Machine, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, fmt.Errorf("recorded machine: %w", err)
	}
	return readTree(t, root)
}

func readTree(t tree, source string) (*Machine, error) {
	info := parseCPUInfo(fileOrNone(t, "proc/cpuinfo"))
	numbers := cpuDirs(t)
	if !slices.ContainsFunc(numbers, func(c int) bool { return len(t.list(cpuPath(c, "topology"))) > 0 }) {
		if info.count() > len(numbers) {
			return readCPUInfo(t, info, source)
		}
		if len(numbers) == 0 {
			return nil, fmt.Errorf("%s: neither %s nor proc/cpuinfo tells of any CPU", source, cpuDir)
		}
	}
	r := &sysfsReader{tree: t, info: info, source: source}
	r.findCPUs(numbers)
	r.readPackages()
	r.readCores()
	r.readDies()
	r.readCaches()
	r.readKinds()
	r.mergeClusters()
	nodes, distances := r.readNodes()
	r.markAllowed()
	return assemble(r.cpus, nodes, distances, source, r.warnings)
}

func fileOrNone(t tree, name string) string {
	data, _ := t.read(name)
	return string(data)
}

// cpuDirs returns the numbers N for which there is a directory cpuN, ascending.
func cpuDirs(t tree) []int { return numbered(t, cpuDir, "cpu") }

func numbered(t tree, dir, prefix string) []int {
	var numbers []int
	for _, name := range t.list(dir) {
		if digits, found := strings.CutPrefix(name, prefix); found {
			if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n <= affinity.MaxCPU {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

func cpuPath(cpu int, name string) string { return path.Join(cpuDir, "cpu"+strconv.Itoa(cpu), name) }

// sysfsReader fills the levels of the online CPUs one after the other. Group
// numbers are provisional: assemble renumbers them.
type sysfsReader struct {
	tree     tree
	info     cpuInfo
	source   string
	cpus     []CPU
	at       map[int]int // CPU number → index, online CPUs only
	warnings []string
}

func (r *sysfsReader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// findCPUs tells which CPUs are present and which of them are online. Old
// kernels have no lists, only a file "online" in each directory, and none in
// that of a CPU that cannot be switched off.
func (r *sysfsReader) findCPUs(dirs []int) {
	numbers := dirs
	if present, found := cpuSet(r.tree, cpuDir+"/present"); found {
		numbers = nil
		for c := range present {
			numbers = append(numbers, c)
		}
	}
	online, listed := cpuSet(r.tree, cpuDir+"/online")
	for c := range online {
		numbers = append(numbers, c)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	r.at = make(map[int]int)
	for _, c := range numbers {
		on := online[c]
		if !listed {
			state, found := integer(r.tree, cpuPath(c, "online"))
			on = !found || state != 0
		}
		if on {
			r.at[c] = len(r.cpus)
		}
		r.cpus = append(r.cpus, unknownCPU(c, on))
	}
}

// each calls f for every online CPU, ascending.
func (r *sysfsReader) each(f func(c *CPU)) {
	for i := range r.cpus {
		if r.cpus[i].Online {
			f(&r.cpus[i])
		}
	}
}

// siblings reads the first of a CPU's masks that is there, cut with the online
// CPUs: masks may name CPUs that went offline. The CPU itself is always in; in
// a mask that is empty (Itanium's third level of cache) so are its threads.
func (r *sysfsReader) siblings(c *CPU, names ...string) ([]int, bool) {
	for i, name := range names {
		names[i] = cpuPath(c.CPU, name)
	}
	set, found := cpuSet(r.tree, names...)
	if !found {
		return nil, false
	}
	if len(set) == 0 && c.Core != Unknown {
		r.each(func(other *CPU) {
			if other.Core == c.Core {
				set[other.CPU] = true
			}
		})
	}
	set[c.CPU] = true
	cpus := make([]int, 0, len(set))
	for n := range set {
		if _, online := r.at[n]; online {
			cpus = append(cpus, n)
		}
	}
	slices.Sort(cpus)
	return cpus, true
}

// join puts all cpus into group at a level, those excepted that already have one.
func (r *sysfsReader) join(level func(*CPU) *int, group int, cpus []int) {
	for _, n := range cpus {
		if number := level(&r.cpus[r.at[n]]); *number == Unknown {
			*number = group
		}
	}
}

func packageOf(c *CPU) *int { return &c.Package }
func coreOf(c *CPU) *int    { return &c.Core }
func dieOf(c *CPU) *int     { return &c.Die }
func l2Of(c *CPU) *int      { return &c.L2 }
func llcOf(c *CPU) *int     { return &c.LLC }

// readPackages takes a package to be what shares the package mask. Some
// kernels' masks are narrower than the package (cluster-on-die): groups with
// one physical_package_id are joined, unless a core_id comes twice among
// them, which proves that the ids are not to be trusted.
func (r *sysfsReader) readPackages() {
	type identity struct{ id, core int }
	masks := make(map[int][]int) // lowest CPU of a mask → its CPUs
	r.each(func(c *CPU) {
		if c.Package != Unknown {
			return
		}
		cpus, found := r.siblings(c, "topology/package_cpus", "topology/core_siblings", "topology/package_cpus_list", "topology/core_siblings_list")
		if !found {
			return
		}
		r.join(packageOf, c.CPU, cpus)
		masks[c.CPU] = cpus
	})
	byID := make(map[int][]int) // physical_package_id → lowest CPUs of its masks
	cores := make(map[identity]int)
	clash := make(map[int]bool)
	r.each(func(c *CPU) {
		id, found := integer(r.tree, cpuPath(c.CPU, "topology/physical_package_id"))
		if !found || id < 0 {
			return
		}
		if c.Package == Unknown { // an id without a mask
			c.Package = affinity.MaxCPU + 1 + id
			return
		}
		if !slices.Contains(byID[id], c.Package) {
			byID[id] = append(byID[id], c.Package)
		}
		if core, found := integer(r.tree, cpuPath(c.CPU, "topology/core_id")); found {
			who := identity{id, core}
			if other, seen := cores[who]; seen && other != c.Package {
				clash[id] = true
			}
			cores[who] = c.Package
		}
	})
	for id, lowest := range byID {
		if len(lowest) < 2 || clash[id] {
			continue
		}
		slices.Sort(lowest)
		r.warn("package %d: the package masks cover only parts of it (%d); its CPUs are joined by physical_package_id", id, len(lowest))
		r.each(func(c *CPU) {
			if slices.Contains(lowest, c.Package) {
				c.Package = lowest[0]
			}
		})
	}
}

// readCores takes a core to be what shares the thread mask.
func (r *sysfsReader) readCores() {
	// The two cores of a Bulldozer module share a mask but have ids of their
	// own; hwloc counts them as cores, the kernel as threads.
	modules := r.info.vendor == "AuthenticAMD" && r.info.family == 21 && r.info.model <= 1
	r.each(func(c *CPU) {
		if c.Core != Unknown {
			return
		}
		cpus, found := r.siblings(c, "topology/core_cpus", "topology/thread_siblings", "topology/core_cpus_list", "topology/thread_siblings_list")
		if !found {
			return
		}
		if modules {
			mine, _ := integer(r.tree, cpuPath(c.CPU, "topology/core_id"))
			cpus = slices.DeleteFunc(cpus, func(n int) bool {
				other, _ := integer(r.tree, cpuPath(n, "topology/core_id"))
				return other != mine
			})
		}
		r.join(coreOf, c.CPU, cpus)
		if id, found := integer(r.tree, cpuPath(c.CPU, "topology/core_id")); found && id < 0 && len(cpus) > 1 {
			r.warn("CPUs %s are called threads of one core by a kernel that knows no core ids: they may be cores", affinity.FormatList(cpus))
		}
	})
}

func (r *sysfsReader) readDies() {
	r.each(func(c *CPU) {
		if id, found := integer(r.tree, cpuPath(c.CPU, "topology/die_id")); !found || id < 0 || c.Die != Unknown {
			return
		}
		if cpus, found := r.siblings(c, "topology/die_cpus", "topology/die_cpus_list"); found {
			r.join(dieOf, c.CPU, cpus)
		}
	})
}

// readCaches finds who shares the second level, and who the last one that a
// CPU has from the second on. Instruction caches do not count.
func (r *sysfsReader) readCaches() {
	type cache struct {
		level int
		cpus  []int
	}
	last := make(map[int]cache) // by CPU number
	r.each(func(c *CPU) {
		for _, name := range r.tree.list(cpuPath(c.CPU, "cache")) {
			dir := "cache/" + name
			level, found := integer(r.tree, cpuPath(c.CPU, dir+"/level"))
			kind, _ := text(r.tree, cpuPath(c.CPU, dir+"/type"))
			if !found || level < 2 || kind == "Instruction" {
				continue
			}
			cpus, found := r.siblings(c, dir+"/shared_cpu_map", dir+"/shared_cpu_list")
			if !found {
				continue
			}
			if level == 2 {
				r.join(l2Of, c.CPU, cpus)
			}
			for _, n := range cpus {
				if level > last[n].level {
					last[n] = cache{level, cpus}
				}
			}
		}
	})
	r.each(func(c *CPU) {
		if l := last[c.CPU]; l.level > 0 && c.LLC == Unknown {
			r.join(llcOf, c.CPU, l.cpus)
		}
	})
}

// readKinds tells cores apart by what the kernel says of their strength:
// cpu_capacity, else the base frequency, else the highest one (where cores
// within a tenth of each other are of one kind, since the best of a kind may
// boost higher).
func (r *sysfsReader) readKinds() {
	for _, file := range []string{"cpu_capacity", "cpufreq/base_frequency", "cpufreq/cpuinfo_max_freq"} {
		strength := make(map[int]int)
		complete := true
		r.each(func(c *CPU) {
			n, found := integer(r.tree, cpuPath(c.CPU, file))
			complete = complete && found
			strength[c.CPU] = n
		})
		if !complete {
			continue
		}
		var sorted []int
		for _, n := range strength {
			sorted = append(sorted, n)
		}
		slices.Sort(sorted)
		if file == "cpufreq/cpuinfo_max_freq" {
			first := sorted[0]
			sorted = slices.DeleteFunc(sorted, func(n int) bool {
				if n > first && n <= first+first/10 {
					return true
				}
				first = n
				return false
			})
		}
		r.each(func(c *CPU) {
			i, exact := slices.BinarySearch(sorted, strength[c.CPU])
			if !exact {
				i--
			}
			c.Kind = sorted[i]
		})
		return
	}
}

// mergeClusters makes one package of several that share a last-level cache
// and differ in their kind of core: some arm64 kernels number the clusters of
// one chip as packages.
func (r *sysfsReader) mergeClusters() {
	type chip struct {
		packages, kinds map[int]bool
	}
	chips := make(map[int]*chip) // by last-level cache
	r.each(func(c *CPU) {
		if c.LLC == Unknown || c.Package == Unknown {
			return
		}
		if chips[c.LLC] == nil {
			chips[c.LLC] = &chip{make(map[int]bool), make(map[int]bool)}
		}
		chips[c.LLC].packages[c.Package] = true
		chips[c.LLC].kinds[c.Kind] = true
	})
	for llc, it := range chips {
		if len(it.packages) < 2 {
			continue
		}
		if len(it.kinds) < 2 {
			r.warn("one cache is shared by %d packages: caches or packages are not what they are said to be", len(it.packages))
			continue
		}
		r.warn("%d clusters that share one last-level cache are numbered as packages: they are taken for one package", len(it.packages))
		one := Unknown
		r.each(func(c *CPU) {
			if it.packages[c.Package] && (one == Unknown || c.Package < one) {
				one = c.Package
			}
		})
		r.each(func(c *CPU) {
			if c.LLC == llc && it.packages[c.Package] {
				c.Package = one
			}
		})
	}
}

// readNodes returns the nodes that the kernel numbers and their distances.
func (r *sysfsReader) readNodes() ([]int, [][]int) {
	var nodes []int
	var distances [][]int
	sets := make(map[string]int) // CPUs of a node → the node
	numbers := numbered(r.tree, nodeDir, "node")
	var kept []int // their ranks among all nodes
	for rank, node := range numbers {
		dir := path.Join(nodeDir, "node"+strconv.Itoa(node))
		set, found := cpuSet(r.tree, dir+"/cpumap", dir+"/cpulist")
		if !found && len(numbers) == 1 { // a kernel that names its only node and no CPUs
			set = make(map[int]bool)
			for n := range r.at {
				set[n] = true
			}
		}
		var cpus []int
		for n := range set {
			if _, online := r.at[n]; online {
				cpus = append(cpus, n)
			}
		}
		slices.Sort(cpus)
		key := affinity.FormatList(cpus)
		if first, twice := sets[key]; twice && len(cpus) > 0 {
			r.warn("nodes %d and %d claim the same CPUs %s: node %d is left out", first, node, key, node)
			continue
		}
		sets[key] = node
		for _, n := range cpus {
			c := &r.cpus[r.at[n]]
			if c.Node != Unknown {
				r.warn("CPU %d is claimed by nodes %d and %d: it is taken for node %d's", n, c.Node, node, c.Node)
				continue
			}
			c.Node = node
		}
		nodes = append(nodes, node)
		kept = append(kept, rank)
		distances = append(distances, r.distanceRow(dir))
	}
	for i, row := range distances {
		if len(row) != len(numbers) {
			if len(nodes) > 1 {
				r.warn("NUMA distances are not told, or not for every node")
			}
			return nodes, nil
		}
		cut := make([]int, 0, len(kept))
		for _, rank := range kept {
			cut = append(cut, row[rank])
		}
		distances[i] = cut
	}
	return nodes, distances
}

func (r *sysfsReader) distanceRow(dir string) []int {
	s, _ := text(r.tree, dir+"/distance")
	var row []int
	for _, field := range strings.Fields(s) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > 1<<16 {
			return nil
		}
		row = append(row, n)
	}
	return row
}

// markAllowed cuts the allowed CPUs to those of the process.
func (r *sysfsReader) markAllowed() {
	allowed, from, found := allowedCPUs(r.tree)
	if !found {
		return
	}
	left := 0
	r.each(func(c *CPU) {
		c.Allowed = allowed[c.CPU]
		if c.Allowed {
			left++
		}
	})
	if left == 0 {
		r.warn("%s allows none of the online CPUs", from)
	}
	// What binds a live process is the effective set, which its mask in proc
	// shows; without that mask the configured set is all that can be believed.
	if list, found := text(r.tree, strings.Replace(from, "/cpuset.cpus", "/cpuset.effective_cpus", 1)); found && left > 0 {
		effective, err := affinity.ParseList(list)
		outside := slices.DeleteFunc(r.allowedList(), func(n int) bool { return slices.Contains(effective, n) })
		if err == nil && len(effective) > 0 && len(outside) > 0 {
			r.warn("%s allows CPUs %s, which cpuset.effective_cpus does not", from, affinity.FormatList(outside))
		}
	}
}

func (r *sysfsReader) allowedList() []int {
	var cpus []int
	r.each(func(c *CPU) {
		if c.Allowed {
			cpus = append(cpus, c.CPU)
		}
	})
	return cpus
}
