package environ

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const debugSched = "/sys/kernel/debug/sched"

func (t tree) sched(log kernelLog) {
	s := &t.e.Sched
	knobs, err := t.knobs()
	if err != nil {
		t.e.absent("sched.knobs", err.Error())
	}
	s.Knobs = knobs
	t.schedName(knobs)
	t.schedExt()
	t.preemption(log)
	if ns, err := strconv.ParseInt(knobs["debug.base_slice_ns"], 10, 64); err == nil {
		s.BaseSliceNS = &ns
	} else if reason, ok := t.e.Unavailable["sched.knobs.debugfs"]; ok {
		t.e.absent("sched.base_slice_ns", reason)
	} else {
		t.e.absent("sched.base_slice_ns", "this kernel has no "+debugSched+"/base_slice_ns (it came with EEVDF, in 6.6)")
	}
	s.NUMABalancing = t.text("sched.numa_balancing", "/proc/sys/kernel/numa_balancing")
	if a := t.text("sched.autogroup", "/proc/sys/kernel/sched_autogroup_enabled"); a != "" {
		s.Autogroup = ptr(a != "0")
		s.AutogroupSelf = t.try("/proc/self/autogroup")
	}
	if s.AutogroupSelf == "" {
		t.e.absent("sched.autogroup_self", "there is no /proc/self/autogroup")
	}
	s.Isolated = t.cpuList("sched.isolated", sysCPU+"/isolated")
	if t.e.Kernel.ConfigFrom != "" && t.e.Kernel.Config["NO_HZ_FULL"] != "y" {
		s.NohzFull = "none"
	} else {
		s.NohzFull = t.cpuList("sched.nohz_full", sysCPU+"/nohz_full")
	}
	t.accounting()
	t.e.absent("sched.available", "Linux has none; see sched_ext")
}

// cpuList reads a list of CPUs that may be empty; nohz_full prints "(null)"
// where the option was not given (kernel/time/tick-sched.c hands a null mask
// to the printing in drivers/base/cpu.c).
func (t tree) cpuList(name, p string) string {
	s, err := t.read(p)
	switch {
	case err != nil:
		t.e.absent(name, why(p, err))
		return ""
	case s == "" || s == "(null)":
		return "none"
	}
	return s
}

// knobs are the scheduler's settings: kernel.sched_* by that name, and those
// of debugfs as debug.NAME. Before 5.13 debugfs had only sched_features, and
// the rest were kernel.sched_*.
func (t tree) knobs() (map[string]string, error) {
	m := map[string]string{}
	for _, p := range t.glob("/proc/sys/kernel/sched_*") {
		if s, err := t.read(p); err == nil {
			m["kernel."+filepath.Base(p)] = s
		}
	}
	debug, err := t.files(debugSched)
	for name, value := range debug {
		m["debug."+name] = value
	}
	if numa, err := t.files(debugSched + "/numa_balancing"); err == nil {
		for name, value := range numa {
			m["debug.numa_balancing."+name] = value
		}
	}
	if s := t.try("/sys/kernel/debug/sched_features"); s != "" {
		m["debug.features"] = s
	} else if err != nil {
		reason := why(debugSched, err)
		if entries := t.glob("/sys/kernel/debug/*"); len(entries) == 0 {
			reason = debugSched + " is not there: not root, or debugfs is not mounted (mount -t debugfs none /sys/kernel/debug)"
		}
		t.e.absent("sched.knobs.debugfs", reason)
	}
	if len(m) == 0 {
		return nil, fmt.Errorf("neither /proc/sys/kernel/sched_* nor %s is readable", debugSched)
	}
	return m, nil
}

var releaseNumber = regexp.MustCompile(`^(\d+)\.(\d+)`)

// schedName tells the fair scheduler by its knobs, which a backport brings
// along, and else by the kernel's release: CFS came in 2.6.23, EEVDF in 6.6.
func (t tree) schedName(knobs map[string]string) {
	s := &t.e.Sched
	features := knobs["debug.features"]
	switch {
	case knobs["debug.base_slice_ns"] != "" || strings.Contains(features, "PLACE_LAG"):
		s.Name, s.From = "EEVDF", "its knobs in debugfs"
		return
	case knobs["debug.latency_ns"] != "" || knobs["kernel.sched_latency_ns"] != "" || strings.Contains(features, "GENTLE_FAIR_SLEEPERS"):
		s.Name, s.From = "CFS", "its knobs"
		return
	}
	release := t.e.Kernel.Release
	m := releaseNumber.FindStringSubmatch(release)
	if m == nil {
		t.e.absent("sched.name", "neither its knobs nor the kernel's release are known")
		return
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	s.From = "kernel release"
	switch {
	case major > 6 || major == 6 && minor >= 6:
		s.Name = "EEVDF"
	case major >= 3:
		s.Name = "CFS"
	case strings.HasPrefix(release, "2.6."):
		patch, _ := strconv.Atoi(regexp.MustCompile(`^\d+`).FindString(release[4:]))
		s.Name = "O(1)"
		if patch >= 23 {
			s.Name = "CFS"
		}
	default:
		s.From = ""
		t.e.absent("sched.name", "kernel "+release+" is older than any that is known here")
	}
}

// schedExt reads Documentation/scheduler/sched-ext.rst's files.
func (t tree) schedExt() {
	const dir = "/sys/kernel/sched_ext"
	state, err := t.read(dir + "/state")
	if err != nil {
		t.e.absent("sched.sched_ext", why(dir, err)+": this kernel has no sched_ext")
		return
	}
	t.e.Sched.Ext = &SchedExt{State: state, Ops: t.try(dir + "/root/ops")}
}

var chosen = regexp.MustCompile(`\((\w+)\)`)

// preemption finds the model in force. A kernel with PREEMPT_DYNAMIC shows it
// in debugfs, tells it in its log at boot and at each switch, and takes
// preempt= on its command line.
func (t tree) preemption(log kernelLog) {
	p := &t.e.Sched.Preemption
	config, haveConfig := t.e.Kernel.Config, t.e.Kernel.ConfigFrom != ""
	version := t.e.Kernel.Version
	switch {
	case config["PREEMPT_RT"] == "y" || hasWord(version, "PREEMPT_RT"):
		p.Static = "rt"
	case config["PREEMPT_LAZY"] == "y":
		p.Static = "lazy"
	case config["PREEMPT"] == "y":
		p.Static = "full"
	case config["PREEMPT_VOLUNTARY"] == "y":
		p.Static = "voluntary"
	case config["PREEMPT_NONE"] == "y":
		p.Static = "none"
	case hasWord(version, "PREEMPT"):
		p.Static = "full"
	default:
		t.e.absent("sched.preemption.static", "the kernel's configuration is not readable")
	}
	switch {
	case haveConfig:
		p.Dynamic = ptr(config["PREEMPT_DYNAMIC"] == "y")
	case version != "":
		p.Dynamic = ptr(hasWord(version, "PREEMPT_DYNAMIC"))
	default:
		t.e.absent("sched.preemption.dynamic", "the kernel's version is not known")
	}

	option := ""
	for _, w := range strings.Fields(t.e.Kernel.Cmdline) {
		if v, ok := strings.CutPrefix(w, "preempt="); ok {
			option = v
		}
	}
	logged, _ := log.last("Dynamic Preempt: ")
	dynamic := p.Dynamic != nil && *p.Dynamic
	debug := chosen.FindStringSubmatch(t.try(debugSched + "/preempt"))
	switch {
	case p.Static == "rt" || t.try("/sys/kernel/realtime") == "1":
		p.Model, p.From = "rt", "kernel version"
	case debug != nil:
		p.Model, p.From = debug[1], debugSched+"/preempt"
	case !dynamic && p.Static != "":
		p.Model, p.From = p.Static, "compiled in"
	case logged != "" && !strings.Contains(logged, " "): // not "unsupported mode: …"
		p.Model, p.From = logged, "the kernel log"
	case option != "":
		p.Model, p.From = option, "the kernel command line"
	case p.Static != "":
		p.Model, p.From = p.Static, "compiled in as the default; it may have been switched since"
	case version != "" && !dynamic:
		t.e.absent("sched.preemption.model", "none or voluntary: the version does not tell them apart, and the configuration is not readable")
	default:
		t.e.absent("sched.preemption.model", "it can be switched, and neither debugfs, the kernel log nor the configuration is readable: run as root with debugfs mounted")
	}
}

// accounting is how the kernel splits CPU time (kernel/sched/cputime.c).
// VIRT_CPU_ACCOUNTING_GEN is compiled into most distributions' kernels but
// works only on nohz_full CPUs; the rest are sampled at ticks.
func (t tree) accounting() {
	s := &t.e.Sched
	config := t.e.Kernel.Config
	if t.e.Kernel.ConfigFrom == "" {
		reason := "the kernel's configuration is not readable"
		t.e.absent("sched.cpu_accounting", reason)
		t.e.absent("sched.irq_accounting", reason)
		return
	}
	switch {
	case config["VIRT_CPU_ACCOUNTING_NATIVE"] == "y":
		s.CPUAccounting = "native"
	case config["VIRT_CPU_ACCOUNTING_GEN"] == "y" && s.NohzFull == "":
		t.e.absent("sched.cpu_accounting", "gen on nohz_full CPUs and tick elsewhere, and which CPUs are nohz_full is not known")
	case config["VIRT_CPU_ACCOUNTING_GEN"] == "y" && s.NohzFull != "none":
		s.CPUAccounting = "gen"
	default:
		s.CPUAccounting = "tick"
	}
	s.IRQAccounting = ptr(config["IRQ_TIME_ACCOUNTING"] == "y")
}
