package environ

import (
	"path/filepath"
	"strconv"
	"strings"
)

const sysCPU = "/sys/devices/system/cpu"

func (t tree) cpu() {
	c := &t.e.CPU
	t.cpuinfo()
	c.Online = t.text("cpu.online", sysCPU+"/online")
	c.Present = t.text("cpu.present", sysCPU+"/present")
	if n := countList(c.Online); n > 0 {
		c.Count = &n
	} else {
		t.e.absent("cpu.count", "the list of online CPUs is not known")
	}
	t.frequency()
	t.idle()
	t.smt()
	m, err := t.files(sysCPU + "/vulnerabilities")
	if err != nil {
		t.e.absent("cpu.mitigations", why(sysCPU+"/vulnerabilities", err))
	}
	c.Mitigations = m
}

// cpuinfo reads the first processor of /proc/cpuinfo, whose keys differ by
// architecture (x86: show_cpuinfo in arch/x86/kernel/cpu/proc.c; arm64: c_show
// in arch/arm64/kernel/cpuinfo.c, which names numbers only; others by "cpu").
func (t tree) cpuinfo() {
	c := &t.e.CPU
	text, err := t.read("/proc/cpuinfo")
	if err != nil {
		for _, name := range []string{"vendor", "model", "family", "model_number", "stepping", "microcode"} {
			t.e.absent("cpu."+name, why("/proc/cpuinfo", err))
		}
		return
	}
	keys := parseKeys(text, ":")
	for _, field := range []struct {
		name string
		to   *string
		keys []string
	}{
		{"cpu.vendor", &c.Vendor, []string{"vendor_id", "CPU implementer"}},
		{"cpu.model", &c.Model, []string{"model name", "Processor", "cpu model", "cpu", "uarch"}},
		{"cpu.family", &c.Family, []string{"cpu family", "CPU architecture", "isa"}},
		{"cpu.model_number", &c.ModelNumber, []string{"model", "CPU part", "mvendorid"}},
		{"cpu.stepping", &c.Stepping, []string{"stepping", "CPU revision", "revision"}},
		{"cpu.microcode", &c.Microcode, []string{"microcode"}},
	} {
		for _, k := range field.keys {
			if v := keys[k]; v != "" {
				*field.to = v
				break
			}
		}
		if *field.to == "" {
			t.e.absent(field.name, "/proc/cpuinfo does not say")
		}
	}
}

// frequency reads Documentation/admin-guide/pm/cpufreq.rst's files.
func (t tree) frequency() {
	c := &t.e.CPU
	c.Governors = t.distinct(sysCPU + "/cpu[0-9]*/cpufreq/scaling_governor")
	if len(c.Governors) == 0 { // a tree recorded without cpuN/cpufreq, which are links
		c.Governors = t.distinct(sysCPU + "/cpufreq/policy*/scaling_governor")
	}
	if len(c.Governors) == 0 {
		none := "there is no " + sysCPU + "/cpu*/cpufreq: this kernel or virtual machine does not control frequency"
		for _, name := range []string{"governors", "freq_driver", "energy_preferences", "min_khz", "max_khz"} {
			t.e.absent("cpu."+name, none)
		}
	} else {
		policy := sysCPU + "/cpufreq/policy0"
		if !t.exists(policy) {
			policy = sysCPU + "/cpu0/cpufreq"
		}
		c.FreqDriver = t.text("cpu.freq_driver", policy+"/scaling_driver")
		c.MinKHz = t.number("cpu.min_khz", policy+"/cpuinfo_min_freq")
		c.MaxKHz = t.number("cpu.max_khz", policy+"/cpuinfo_max_freq")
		c.EnergyPrefs = t.distinct(sysCPU + "/cpufreq/policy*/energy_performance_preference")
		if len(c.EnergyPrefs) == 0 {
			t.e.absent("cpu.energy_preferences", "its frequency driver has none")
		}
	}
	// intel_pstate says what is off, cpufreq what is on; amd-pstate since 6.11 by policy.
	if s := t.try(sysCPU + "/intel_pstate/no_turbo"); s != "" {
		c.Turbo = ptr(s == "0")
	} else if s := t.try(sysCPU + "/cpufreq/boost"); s != "" {
		c.Turbo = ptr(s == "1")
	} else if all := t.distinct(sysCPU + "/cpufreq/policy*/boost"); len(all) > 0 {
		c.Turbo = ptr(all[len(all)-1] == "1")
	} else {
		t.e.absent("cpu.turbo", "neither "+sysCPU+"/intel_pstate/no_turbo nor cpufreq/boost is there")
	}
}

// idle reads Documentation/admin-guide/pm/cpuidle.rst's files.
func (t tree) idle() {
	c := &t.e.CPU
	c.IdleDriver = t.text("cpu.idle_driver", sysCPU+"/cpuidle/current_driver")
	c.IdleGovernor = t.try(sysCPU + "/cpuidle/current_governor_ro")
	if c.IdleGovernor == "" {
		c.IdleGovernor = t.text("cpu.idle_governor", sysCPU+"/cpuidle/current_governor")
	}
	for i := 0; ; i++ {
		dir := sysCPU + "/cpu0/cpuidle/state" + strconv.Itoa(i)
		name, err := t.read(filepath.Join(dir, "name"))
		if err != nil {
			break
		}
		s := IdleState{Name: name, Desc: t.try(dir + "/desc")}
		if us, err := strconv.ParseInt(t.try(dir+"/latency"), 10, 64); err == nil {
			s.LatencyUS = &us
		}
		if d := t.try(dir + "/disable"); d != "" {
			s.Disabled = ptr(d != "0")
		}
		c.IdleStates = append(c.IdleStates, s)
	}
	if len(c.IdleStates) == 0 {
		t.e.absent("cpu.idle_states", "there is no "+sysCPU+"/cpu0/cpuidle: no driver is in use")
	}
}

func (t tree) smt() {
	c := &t.e.CPU
	c.SMTControl = t.text("cpu.smt_control", sysCPU+"/smt/control")
	if s := t.try(sysCPU + "/smt/active"); s != "" {
		c.SMT = ptr(s == "1")
		return
	}
	// Kernels before 4.19 have no such file: siblings that share a core tell.
	lists := t.distinct(sysCPU + "/cpu[0-9]*/topology/thread_siblings_list")
	if len(lists) == 0 {
		t.e.absent("cpu.smt", "neither "+sysCPU+"/smt nor thread_siblings_list is there")
		return
	}
	shared := false
	for _, l := range lists {
		shared = shared || strings.ContainsAny(l, ",-")
	}
	c.SMT = &shared
}

func (t tree) clock() {
	c := &t.e.Clock
	const dir = "/sys/devices/system/clocksource/clocksource0"
	c.Source = t.text("clock.source", dir+"/current_clocksource")
	if s := t.text("clock.available", dir+"/available_clocksource"); s != "" {
		c.Available = strings.Fields(s)
	}
	if hz, err := strconv.ParseInt(t.e.Kernel.Config["HZ"], 10, 64); err == nil {
		c.HZ = &hz
	} else {
		t.e.absent("clock.hz", "the kernel's configuration is not readable")
	}
	c.StatHZ = ptr(int64(userHZ))
	for _, name := range []string{"timecounter", "eventtimer"} {
		t.e.absent("clock."+name, "Linux has none")
	}
	t.e.absent("clock.tsc_hz", "Linux gives it in the boot messages only")
}
