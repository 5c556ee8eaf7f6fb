package environ

import (
	"fmt"
	"strconv"
	"strings"
)

// Warnings says in one line each what of this environment truly disturbs a
// measurement, naming the value and the mend. What is not known is not warned of.
func (e *Environment) Warnings() []string {
	var w []string
	add := func(format string, a ...any) { w = append(w, fmt.Sprintf(format, a...)) }

	if len(e.Kernel.Debug) > 0 {
		add("debugging kernel (%s): every lock or allocation costs extra; measure on a kernel built without these options",
			strings.Join(e.Kernel.Debug, ", "))
	}
	e.warnVirtual(add)
	e.warnFrequency(add)
	if e.CPU.SMT != nil && *e.CPU.SMT {
		off := "sysctl machdep.hyperthreading_allowed=0 in loader.conf"
		if e.Kernel.OS == "Linux" {
			off = "echo off > /sys/devices/system/cpu/smt/control"
		}
		add("SMT is on: two workers may share one core; use --placement one-per-core, or turn it off (%s)", off)
	}
	e.warnClock(add)
	if l := e.Load.Load1; l != nil && e.CPU.Count != nil && *l >= max(0.5, 0.25*float64(*e.CPU.Count)) {
		add("load average %.2f on %d CPUs: other work competes for them; stop it, or wait until it is over", *l, *e.CPU.Count)
	}
	if c := e.Cgroup; c != nil && c.QuotaCPUs != nil {
		add("CPU quota of %.2f CPUs by cgroup: workers are stopped when it is used up; lift it (%s)", *c.QuotaCPUs, c.lift())
	}
	return w
}

// lift names the file that sets the tightest quota.
func (c *Cgroup) lift() string {
	for _, l := range c.Levels {
		if q := l.quotaCPUs(); q != nil && *q == *c.QuotaCPUs {
			if c.Version == "v2" {
				return "cpu.max of " + l.Path
			}
			return "cpu.cfs_quota_us of " + l.Path
		}
	}
	return "cpu.max"
}

func (e *Environment) warnVirtual(add func(string, ...any)) {
	v := e.Virtual
	if v.Machine == nil || !*v.Machine {
		return
	}
	name := v.Hypervisor
	if name == "" {
		name = "of an unknown kind"
	}
	add("virtual machine (%s): its CPUs are lent, wake-ups and idle cost exits to the hypervisor; compare only with runs of this machine, or measure on bare metal", name)
}

func (e *Environment) warnFrequency(add func(string, ...any)) {
	for _, g := range e.CPU.Governors {
		if g != "performance" {
			add("frequency governor is %s, not performance: CPUs change speed with load; set it (cpupower frequency-set -g performance)",
				strings.Join(e.CPU.Governors, " and "))
			break
		}
	}
	if e.CPU.Turbo != nil && *e.CPU.Turbo {
		off := "echo 0 > /sys/devices/system/cpu/cpufreq/boost"
		if strings.HasPrefix(e.CPU.FreqDriver, "intel_") {
			off = "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
		}
		add("turbo is on: speed depends on how many CPUs are busy and how warm they are; turn it off (%s)", off)
	}
}

// warnClock speaks of x86 only: elsewhere the one clock is the processor's own.
func (e *Environment) warnClock(add func(string, ...any)) {
	s := e.Clock.Source
	x86 := false
	switch e.Kernel.Machine {
	case "x86_64", "amd64", "i386", "i686":
		x86 = true
	}
	switch {
	case s == "" || !x86 || s == "tsc" || strings.HasPrefix(s, "TSC"):
	case e.Kernel.OS == "FreeBSD":
		add("time counter is %s, not TSC: each time stamp costs more; use --clock none, or set kern.timecounter.hardware=TSC-low if it is on offer", s)
	case s == "kvm-clock" || strings.HasPrefix(s, "hyperv_clocksource_tsc"):
		add("clock source is %s, not tsc: each time stamp costs a little more; use --clock none, or boot with clocksource=tsc", s)
	default:
		add("clock source is %s, not tsc: each time stamp is a system call and a slow device; use --clock none, or boot with clocksource=tsc tsc=reliable", s)
	}
}

// quotaCPUs is a quota of "150000 100000" as 1.5 CPUs, and nil without a limit.
func (l CgroupLevel) quotaCPUs() *float64 {
	quota, period, ok := strings.Cut(l.Quota, " ")
	q, err := strconv.ParseInt(quota, 10, 64)
	if !ok || err != nil || q < 0 {
		return nil
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return nil
	}
	return ptr(float64(q) / float64(p))
}
