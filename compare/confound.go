package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
)

// Confounder is something that differs between two sides besides what was
// meant to, or stands in the way of trusting the comparison.
type Confounder struct {
	Before, After string // sides
	What          string // a path of the environment, or a word
	Text          string // one line for a person
}

// volatile paths differ from session to session and mean nothing by it.
var volatile = []string{
	"schema", "gathered", "boot_id", "kernel.uptime_s", "load", "host.memory_available", "host.euid",
	"sched.autogroup_self", "cgroup.path", "unavailable", "kernel.tainted", "clock.tsc_hz", "udsbench.started",
}

// words says paths in plain words; a path that ends in a dot stands for all
// under it, whose last part is added.
var words = map[string]string{
	"kernel_fingerprint":     "kernel (fingerprint)",
	"kernel.os":              "operating system",
	"kernel.release":         "kernel release",
	"kernel.version":         "kernel version",
	"kernel.build_id":        "kernel build id",
	"kernel.config_sha256":   "kernel configuration (hash)",
	"kernel.config.":         "kernel option ",
	"kernel.cmdline":         "kernel command line",
	"kernel.tunables.":       "loader tunable ",
	"kernel.debug":           "debugging compiled into the kernel",
	"cpu.model":              "CPU model",
	"cpu.microcode":          "CPU microcode",
	"cpu.online":             "CPUs online",
	"cpu.count":              "number of CPUs online",
	"cpu.governors":          "frequency governor",
	"cpu.energy_preferences": "energy preference",
	"cpu.turbo":              "turbo",
	"cpu.smt":                "SMT",
	"cpu.smt_control":        "SMT control",
	"cpu.idle_driver":        "idle driver",
	"cpu.idle_governor":      "idle governor",
	"cpu.idle_states.":       "idle state ",
	"cpu.mitigations.":       "mitigation of ",
	"clock.source":           "clock source",
	"clock.hz":               "timer frequency (HZ)",
	"virtual.machine":        "virtual machine",
	"virtual.hypervisor":     "hypervisor",
	"virtual.pv_spinlocks":   "paravirtual spinlocks",
	"virtual.container":      "container",
	"sched.name":             "scheduler",
	"sched.ext.ops":          "sched_ext scheduler",
	"sched.preemption.model": "preemption",
	"sched.knobs.":           "scheduler knob ",
	"sched.autogroup":        "autogroup",
	"sched.isolated":         "isolated CPUs",
	"sched.nohz_full":        "tickless CPUs",
	"sched.cpu_accounting":   "CPU time accounting",
	"sched.numa_balancing":   "NUMA balancing",
	"cgroup.quota_cpus":      "CPU quota of the cgroup",
	"cgroup.cpus":            "CPUs of the cgroup",
	"limits.":                "limit on ",
	"sysctl.":                "sysctl ",
	"host.name":              "host",
	"host.os":                "distribution",
	"host.memory_total":      "memory",
	"udsbench.":              "udsbench's own ",
}

func inWords(path string) string {
	if w, ok := words[path]; ok {
		return w
	}
	for at := strings.Index(path, "."); at >= 0; {
		if w, ok := words[path[:at+1]]; ok {
			return w + path[at+1:]
		}
		next := strings.Index(path[at+1:], ".")
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return path
}

// confounders lists what differs between the sides of a pair, environment
// first, then how they were measured.
func confounders(in Input, before, after Side, p *Pair) []Confounder {
	var all []Confounder
	add := func(what, format string, args ...any) {
		all = append(all, Confounder{before.Name, after.Name, what, fmt.Sprintf(format, args...)})
	}
	if len(before.Environments) > 0 && len(after.Environments) > 0 {
		v1, v2 := valuesOf(before.Environments), valuesOf(after.Environments)
		paths := maps.Clone(v1)
		maps.Copy(paths, v2)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			if meant(path, in.Factors) || slices.ContainsFunc(volatile, func(v string) bool { return path == v || strings.HasPrefix(path, v+".") }) {
				continue
			}
			// A kernel's hash of its own says no more than its name does.
			if slices.Equal(v1[path], v2[path]) {
				continue
			}
			add(path, "%s: %s → %s", inWords(path), oneOf(v1[path]), oneOf(v2[path]))
		}
		if l1, l2 := meanLoad(before), meanLoad(after); math.Abs(l1-l2) > 1+0.2*math.Min(l1, l2) {
			add("load", "load when it began: %.1f → %.1f", l1, l2)
		}
	}
	if w1, w2 := medianOf(before.Runs, windowOf), medianOf(after.Runs, windowOf); w1 > 0 && w2 > 0 && math.Abs(math.Log(w2/w1)) > 0.1 {
		add("window", "length of the window: %.3g s → %.3g s", w1, w2)
	}
	if w1, w2 := medianOf(before.Runs, warmupOf), medianOf(after.Runs, warmupOf); w1 > 0 && w2 > 0 && math.Abs(math.Log(w2/w1)) > 0.4 {
		add("warmup", "length of the warm-up: %.3g s → %.3g s", w1, w2)
	}
	if order := inOrder(before.Runs, after.Runs); order != "" && !paired(p) {
		add("order", order, before.Name, after.Name)
	}
	return all
}

func paired(p *Pair) bool {
	return slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.Diff != nil && c.Diff.Paired })
}

// valuesOf gives the distinct values of each path over environments, sorted.
func valuesOf(es []Environment) map[string][]string {
	vs := map[string][]string{}
	for _, e := range es {
		for path, v := range e {
			if at, ok := slices.BinarySearch(vs[path], v); !ok {
				vs[path] = slices.Insert(vs[path], at, v)
			}
		}
	}
	return vs
}

func oneOf(vs []string) string {
	short := make([]string, len(vs))
	for i, v := range vs {
		if short[i] = v; len(v) > 60 {
			short[i] = v[:57] + "…"
		}
	}
	switch {
	case len(vs) == 0:
		return "not known"
	case len(vs) > 3:
		return fmt.Sprintf("%s and %d others", short[0], len(vs)-1)
	}
	return strings.Join(short, " or ")
}

func meanLoad(s Side) float64 {
	sum, n := 0.0, 0.0
	for _, e := range s.Environments {
		if v, err := strconv.ParseFloat(e["load.load1"], 64); err == nil {
			sum, n = sum+v, n+1
		}
	}
	return sum / n // NaN where no environment has it: compares as no difference
}

func windowOf(r *record.Run) *float64 { return r.WindowS }
func warmupOf(r *record.Run) *float64 { return r.WarmupS }

func medianOf(runs []record.Run, of func(*record.Run) *float64) float64 {
	var vs []float64
	for i := range runs {
		if v := of(&runs[i]); v != nil {
			vs = append(vs, *v)
		}
	}
	if len(vs) == 0 {
		return 0
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// inOrder says, with two verbs for the sides' names, that one side was
// measured wholly before the other: what the machine did between them is then
// part of the difference.
func inOrder(before, after []record.Run) string {
	span := func(runs []record.Run) (first, last string) {
		for i := range runs {
			s := runs[i].Start
			if s == "" {
				return "", ""
			}
			if first == "" || s < first {
				first = s
			}
			if s > last {
				last = s
			}
		}
		return first, last
	}
	f1, l1 := span(before)
	f2, l2 := span(after)
	switch {
	case f1 == "" || f2 == "":
		return ""
	case l1 < f2:
		return "all of %s was measured before %s: a drift of the machine is not told apart from the change"
	case l2 < f1:
		return "all of %[2]s was measured before %[1]s: a drift of the machine is not told apart from the change"
	}
	return ""
}
