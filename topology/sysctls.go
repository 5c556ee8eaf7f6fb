package topology

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
	"udsbench/sysctl"
)

// fromSysctls makes a machine of what a FreeBSD kernel tells of itself:
//
//	kern.sched.topology_spec   the tree, under ULE only (else absent, or without CPUs)
//	hw.ncpu, kern.smp.maxid    how many CPUs, and the highest number
//	kern.smp.cores, .threads_per_core   how many are threads of one core
//	vm.ndomains, dev.cpu.N.%domain      NUMA domains
//	vm.phys_locality           their distances
//
// A 4BSD kernel has no tree. What is missing there, and which groups are
// packages, comes from CPUID where the CPUs could be asked (answers, by CPU
// number); else the machine is flat and says so.
func fromSysctls(r sysctl.Reader, answers map[int]leaves, source string) (*Machine, error) {
	cpus, warnings, err := treeOrFlat(r, source)
	if err != nil {
		return nil, err
	}
	if len(answers) > 0 {
		if err := shapeByCPUID(cpus, answers); err != nil {
			warnings = append(warnings, "CPUID is not believed: "+err.Error())
		}
	}
	if told := func(c CPU) bool { return c.Core != Unknown }; slices.ContainsFunc(cpus, told) {
		warnings = append(warnings, packagesNotTold(cpus)...)
	} else {
		warnings = append(warnings, "this kernel tells no tree of CPUs (only ULE does): packages and caches are not known")
		if threads, err := sysctl.Int(r, "kern.smp.threads_per_core"); err == nil && threads == 1 {
			for i := range cpus {
				cpus[i].Core = i
			}
		}
	}
	nodes, distances, more := domains(r, cpus)
	m, err := assemble(cpus, nodes, distances, source, append(warnings, more...))
	if err != nil {
		return nil, err
	}
	if cores, err := sysctl.Int(r, "kern.smp.cores"); err == nil && m.Cores != Unknown && int(cores) != m.Cores {
		m.warn("kern.smp.cores is %d, but %d cores are told", cores, m.Cores)
	}
	return m, nil
}

// treeOrFlat returns the CPUs as the tree shapes them, or without a shape.
func treeOrFlat(r sysctl.Reader, source string) ([]CPU, []string, error) {
	text, err := r.Get("kern.sched.topology_spec")
	if err == nil {
		spec, err := parseSpec(text)
		if err == nil {
			return spec.list(), nil, nil
		}
		if errors.Is(err, errNoTree) {
			return flat(r, source, nil)
		}
		return flat(r, source, []string{err.Error()})
	}
	if !errors.Is(err, sysctl.ErrNotExist) {
		return flat(r, source, []string{"kern.sched.topology_spec: " + err.Error()})
	}
	return flat(r, source, nil)
}

// flat numbers the CPUs: those that have a device where any have, since
// numbers have gaps, else as many as are counted.
func flat(r sysctl.Reader, source string, warnings []string) ([]CPU, []string, error) {
	counted, err := sysctl.Int(r, "hw.ncpu")
	if err != nil {
		if counted, err = sysctl.Int(r, "kern.smp.cpus"); err != nil {
			return nil, nil, fmt.Errorf("%s: neither kern.sched.topology_spec nor hw.ncpu tells of any CPU: %w", source, err)
		}
	}
	if counted < 1 || counted > affinity.MaxCPU {
		return nil, nil, fmt.Errorf("%s: hw.ncpu is %d", source, counted)
	}
	last := counted - 1
	if maxid, err := sysctl.Int(r, "kern.smp.maxid"); err == nil && maxid > last && maxid <= affinity.MaxCPU {
		last = maxid
	}
	var cpus []CPU
	for n := range int(last) + 1 {
		if _, err := r.Get(fmt.Sprintf("dev.cpu.%d.%%driver", n)); err == nil {
			cpus = append(cpus, unknownCPU(n, true))
		}
	}
	if len(cpus) != int(counted) {
		cpus = nil
		for n := range int(counted) {
			cpus = append(cpus, unknownCPU(n, true))
		}
	}
	return cpus, warnings, nil
}

// domains fills the nodes, and returns them with their distances. What the
// tree says of domains stands where the devices do not tell them all.
func domains(r sysctl.Reader, cpus []CPU) (nodes []int, distances [][]int, warnings []string) {
	marked := 0
	for _, c := range cpus {
		marked = max(marked, c.Node+1)
	}
	domains, err := sysctl.Int(r, "vm.ndomains")
	if err != nil || domains < 1 || domains > 64 {
		return upTo(marked), nil, nil
	}
	numbers := make([]int, len(cpus))
	if domains > 1 {
		for i, c := range cpus {
			n, err := sysctl.Int(r, fmt.Sprintf("dev.cpu.%d.%%domain", c.CPU))
			if err != nil || n < 0 || n >= domains {
				warnings = append(warnings, fmt.Sprintf("vm.ndomains is %d, but CPU %d does not tell its domain", domains, c.CPU))
				return upTo(marked), nil, warnings
			}
			numbers[i] = int(n)
		}
	}
	for i := range cpus {
		cpus[i].Node = numbers[i]
	}
	nodes = upTo(int(domains))
	return nodes, locality(r, nodes), nil
}

// locality reads vm.phys_locality: a line a domain, "0: 10 21", -1 where
// firmware tells no distance (sys/vm/vm_phys.c).
func locality(r sysctl.Reader, nodes []int) [][]int {
	text, err := r.Get("vm.phys_locality")
	if err != nil {
		return nil
	}
	var rows [][]int
	for line := range strings.SplitSeq(text, "\n") {
		_, numbers, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		var row []int
		for word := range strings.FieldsSeq(numbers) {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 || n > 1<<16 {
				return nil
			}
			row = append(row, n)
		}
		if len(row) != len(nodes) {
			return nil
		}
		rows = append(rows, row)
	}
	if len(rows) != len(nodes) {
		return nil
	}
	return rows
}
