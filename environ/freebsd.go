package environ

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"udsbench/sysctl"
)

// freebsd fills an Environment from a FreeBSD kernel's variables. The names
// are those of sysctl(8); where one was added late, the release is noted.
type freebsd struct {
	e *Environment
	s Sysctl
}

// gatherRecorded reads recorded answers. They are of a kernel, not of this
// process.
func gatherRecorded(e *Environment, root string, opt Option) {
	e.Kernel.Tunables = opt.Kenv
	gatherFreeBSD(e, root, opt.Sysctl)
	for _, name := range []string{"limits", "host.euid", "kernel.uptime_s", "kernel.tunables"} {
		if name != "kernel.tunables" || opt.Kenv == nil {
			e.absent(name, "not in what was recorded")
		}
	}
}

// gatherFreeBSD reads everything that a FreeBSD kernel says. root is only for
// the kernel's own file, which holds its build id.
func gatherFreeBSD(e *Environment, root string, s Sysctl) {
	f := freebsd{e, s}
	f.boot()
	f.kernel(root)
	f.cpu()
	f.clock()
	f.virtual()
	f.sched()
	f.sysctls()
	f.load()
	f.host()
	for _, name := range []string{"cgroup", "sched.sched_ext", "sched.autogroup", "sched.numa_balancing",
		"sched.isolated", "sched.nohz_full", "kernel.cmdline"} {
		e.absent(name, "FreeBSD has none")
	}
}

// text reads a variable for the field called name, or notes its absence.
func (f freebsd) text(name, variable string) string {
	v, err := f.s.Get(variable)
	if err != nil {
		f.e.absent(name, sysctlWhy(variable, err))
		return ""
	}
	if v == "" { // as kern.hostname, where nobody has set it
		f.e.absent(name, variable+" is empty")
	}
	return v
}

func (f freebsd) number(name, variable string) *int64 {
	v := f.text(name, variable)
	if v == "" {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		f.e.absent(name, fmt.Sprintf("%s is %q, not a number", variable, v))
		return nil
	}
	return &n
}

// below reads every variable under a node that has a text. Those that end in
// one of skip are left out: lists, and counts that change from one second to
// the next.
func (f freebsd) below(name, node string, skip ...string) map[string]string {
	names, err := f.s.Names(node)
	if err != nil || len(names) == 0 {
		if err == nil {
			err = sysctl.ErrNotExist
		}
		f.e.absent(name, sysctlWhy(node, err))
		return nil
	}
	values := map[string]string{}
	for _, n := range names {
		if slices.ContainsFunc(skip, func(s string) bool { return strings.HasSuffix(n, s) }) {
			continue
		}
		if v, err := f.s.Get(n); err == nil {
			values[n] = v
		}
	}
	return values
}

func sysctlWhy(variable string, err error) string {
	switch {
	case errors.Is(err, sysctl.ErrNotExist), errors.Is(err, fs.ErrNotExist):
		return "this kernel has no " + variable
	case errors.Is(err, fs.ErrPermission):
		return variable + " is not readable from here (a jail, or not root)"
	}
	return variable + ": " + strings.TrimPrefix(err.Error(), variable+": ")
}

func (f freebsd) boot() {
	id, err := sysctlBootID(f.s)
	if err != nil {
		f.e.absent("boot_id", err.Error())
	}
	f.e.BootID = id
}

// sysctlBootID is kern.boot_id, 16 random bytes (FreeBSD 14; ENXIO before the
// random device is seeded). Before that, the time of the boot stands in: a
// clock that is stepped changes it, so that one boot may look like two, never
// two like one.
func sysctlBootID(s Sysctl) (string, error) {
	raw, err := s.Raw("kern.boot_id")
	if err == nil && len(raw) == 16 {
		h := hex.EncodeToString(raw)
		return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"), nil
	}
	raw, err2 := s.Raw("kern.boottime")
	if err2 != nil || len(raw) < 16 {
		if err == nil {
			err = fmt.Errorf("%d bytes, not 16", len(raw))
		}
		return "", errors.New(sysctlWhy("kern.boot_id", err) + ", nor kern.boottime")
	}
	sec, usec := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])
	return fmt.Sprintf("boottime-%d.%06d", sec, usec), nil
}

// freebsdDebug are the kernel options that slow every lock or allocation.
var freebsdDebug = []string{"INVARIANTS", "WITNESS", "LOCK_PROFILING", "DIAGNOSTIC", "DEBUG_LOCKS",
	"DEBUG_VFS_LOCKS", "MUTEX_DEBUG", "SLEEPQUEUE_PROFILING", "KASAN", "KMSAN", "KCSAN", "DEBUG_MEMGUARD", "DEBUG_REDZONE"}

func (f freebsd) kernel(root string) {
	k := &f.e.Kernel
	k.OS = f.text("kernel.os", "kern.ostype")
	k.Release = f.text("kernel.release", "kern.osrelease")
	k.Version = strings.TrimSpace(f.text("kernel.version", "kern.version"))
	k.Machine = f.text("kernel.machine", "hw.machine")
	k.Ident = f.text("kernel.ident", "kern.ident")
	k.Osreldate = f.number("kernel.osreldate", "kern.osreldate")
	k.BuildID = f.buildID(root)

	debug := map[string]bool{}
	if conf, err := f.s.Get("kern.conftxt"); err == nil {
		sum := sha256.Sum256([]byte(conf))
		k.ConfigHash, k.ConfigFrom = hex.EncodeToString(sum[:]), "kern.conftxt"
		k.Config = parseConftxt(conf)
		for _, o := range freebsdDebug {
			if _, ok := k.Config[o]; ok {
				debug[o] = true
			}
		}
	} else {
		f.e.absent("kernel.config_sha256", sysctlWhy("kern.conftxt", err)+" (option INCLUDE_CONFIG_FILE)")
	}
	// These say of themselves whether they were compiled in, without conftxt.
	for variable, option := range map[string]string{
		"kern.features.invariants": "INVARIANTS",
		"debug.witness.watch":      "WITNESS",
		"debug.lock.prof.enable":   "LOCK_PROFILING",
	} {
		if v, err := f.s.Get(variable); err == nil && !(option == "INVARIANTS" && v == "0") {
			debug[option] = true
		}
	}
	if k.Debug = sortedKeys(debug); k.Debug == nil && k.ConfigFrom != "" {
		k.Debug = []string{}
	} else if k.Debug == nil {
		f.e.absent("kernel.debug", "this kernel has no kern.conftxt; there is no sign of INVARIANTS, WITNESS or LOCK_PROFILING")
	}
	f.e.absent("kernel.tainted", "FreeBSD has none")
}

func (f freebsd) buildID(root string) string {
	id, err := f.s.Get("kern.build_id") // FreeBSD 14.1
	if err == nil && id != "" {
		return id
	}
	file, err := f.s.Get("kern.bootfile")
	if err != nil || file == "" {
		file = "/boot/kernel/kernel"
	}
	if id, err = fileBuildID(filepath.Join(root, file)); err != nil {
		f.e.absent("kernel.build_id", "this kernel has no kern.build_id, and "+why(file, err))
	}
	return id
}

// parseConftxt reads a kernel configuration file: "options NAME" or "options
// NAME=VALUE" lines, parted by blanks or tabs. Devices and the rest are not
// kept; their part in the hash is enough.
func parseConftxt(conf string) map[string]string {
	options := map[string]string{}
	for line := range strings.Lines(conf) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || (words[0] != "options" && words[0] != "option") {
			continue
		}
		name, value, _ := strings.Cut(words[1], "=")
		options[name] = value
	}
	return options
}

func (f freebsd) cpu() {
	c := &f.e.CPU
	c.Model = f.text("cpu.model", "hw.model")
	if n := f.number("cpu.count", "hw.ncpu"); n != nil {
		c.Count = ptr(int(*n))
	}
	if last := f.number("cpu.present", "kern.smp.maxid"); last != nil {
		switch {
		case c.Count == nil || int64(*c.Count) != *last+1:
			f.e.absent("cpu.present", "the numbering has holes, and FreeBSD does not list it")
		case *last == 0:
			c.Present = "0"
		default:
			c.Present = fmt.Sprintf("0-%d", *last)
		}
	}
	if t := f.number("cpu.smt", "kern.smp.threads_per_core"); t != nil {
		c.SMT = ptr(*t > 1)
	}
	if v := f.text("cpu.smt_control", "machdep.hyperthreading_allowed"); v != "" {
		c.SMTControl = "hyperthreading_allowed=" + v
	}
	c.FreqDriver = f.text("cpu.freq_driver", "dev.cpufreq.0.freq_driver")
	// Reading dev.cpu.N.freq itself may stop that CPU for a millisecond to
	// measure it (hwpstate_intel); the table of levels is only a table.
	if levels := f.text("cpu.max_khz", "dev.cpu.0.freq_levels"); levels != "" {
		c.MinKHz, c.MaxKHz = parseFreqLevels(levels)
	}
	if c.MinKHz == nil {
		f.e.absent("cpu.min_khz", "dev.cpu.0.freq_levels gives none")
		f.e.absent("cpu.max_khz", "dev.cpu.0.freq_levels gives none")
	}
	c.IdleDriver = f.text("cpu.idle_driver", "machdep.idle")
	c.IdleGovernor = f.text("cpu.idle_governor", "hw.acpi.cpu.cx_lowest")
	if cx := f.text("cpu.idle_states", "dev.cpu.0.cx_supported"); cx != "" {
		c.IdleStates = parseCxSupported(cx)
	}
	m := f.below("cpu.mitigations", "machdep.mitigations")
	for _, v := range []string{"vm.pmap.pti", "hw.ibrs_active", "hw.mds_disable_state",
		"hw.spec_store_bypass_disable_active", "machdep.syscall_ret_flush_l1d"} {
		if t, err := f.s.Get(v); err == nil {
			if m == nil {
				m = map[string]string{}
			}
			m[v] = t
		}
	}
	c.Mitigations = m
	if len(m) > 0 {
		delete(f.e.Unavailable, "cpu.mitigations")
	}
	for name, why := range map[string]string{
		"cpu.governors":          "FreeBSD's kernel has none; powerd(8) would be a program of its own",
		"cpu.energy_preferences": "FreeBSD has none",
		"cpu.turbo":              "FreeBSD does not say",
		"cpu.online":             "FreeBSD does not number what is online apart from what is there",
		"cpu.vendor":             "FreeBSD gives it in the boot messages only",
		"cpu.family":             "FreeBSD gives it in the boot messages only",
		"cpu.model_number":       "FreeBSD gives it in the boot messages only",
		"cpu.stepping":           "FreeBSD gives it in the boot messages only",
		"cpu.microcode":          "FreeBSD does not say",
	} {
		f.e.absent(name, why)
	}
}

// parseFreqLevels reads "2600/35000 1300/-1": MHz, then milliwatts or -1.
func parseFreqLevels(s string) (min, max *int64) {
	for _, level := range strings.Fields(s) {
		mhz, _, _ := strings.Cut(level, "/")
		n, err := strconv.ParseInt(mhz, 10, 32)
		if err != nil || n <= 0 {
			continue
		}
		khz := n * 1000
		if min == nil || khz < *min {
			min = ptr(khz)
		}
		if max == nil || khz > *max {
			max = ptr(khz)
		}
	}
	return min, max
}

// parseCxSupported reads "C1/1/0 C2/2/50": name, ACPI type, microseconds to wake.
func parseCxSupported(s string) []IdleState {
	var states []IdleState
	for _, word := range strings.Fields(s) {
		part := strings.Split(word, "/")
		state := IdleState{Name: part[0]}
		if len(part) == 3 {
			if us, err := strconv.ParseInt(part[2], 10, 64); err == nil {
				state.LatencyUS = &us
			}
		}
		states = append(states, state)
	}
	return states
}

func (f freebsd) clock() {
	c := &f.e.Clock
	c.Source = f.text("clock.source", "kern.timecounter.hardware")
	if choice := f.text("clock.available", "kern.timecounter.choice"); choice != "" {
		c.Available = strings.Fields(choice)
	}
	c.Timecounter = f.below("clock.timecounter", "kern.timecounter", ".counter")
	c.Eventtimer = f.below("clock.eventtimer", "kern.eventtimer")
	c.TSCHz = f.number("clock.tsc_hz", "machdep.tsc_freq")
	c.HZ = f.number("clock.hz", "kern.hz")
	if _, stat, err := sysctlClockrate(f.s); err == nil {
		c.StatHZ = &stat
	} else {
		f.e.absent("clock.stat_hz", sysctlWhy("kern.clockrate", err))
	}
}

// sysctlClockrate reads struct clockinfo (sys/time.h): five ints, hz, tick, a
// spare, stathz and profhz.
func sysctlClockrate(s Sysctl) (hz, stathz int64, err error) {
	raw, err := s.Raw("kern.clockrate")
	if err != nil {
		return 0, 0, err
	}
	if len(raw) < 20 {
		return 0, 0, fmt.Errorf("%d bytes, not 20", len(raw))
	}
	hz = int64(int32(binary.LittleEndian.Uint32(raw)))
	if stathz = int64(int32(binary.LittleEndian.Uint32(raw[12:]))); stathz <= 0 {
		stathz = hz
	}
	if stathz <= 0 {
		return 0, 0, errors.New("it says 0 ticks a second")
	}
	return hz, stathz, nil
}

// freebsdGuests are the words of kern.vm_guest (kern/subr_param.c).
var freebsdGuests = map[string]string{
	"generic": "unknown", "xen": "Xen", "hv": "Hyper-V", "vmware": "VMware", "kvm": "KVM",
	"bhyve": "bhyve", "vbox": "VirtualBox", "parallels": "Parallels", "nvmm": "NVMM",
}

func (f freebsd) virtual() {
	v := &f.e.Virtual
	guest, from := "", ""
	for _, from = range []string{"kern.vm_guest", "vm.guest"} {
		if t, err := f.s.Get(from); err == nil {
			guest = t
			break
		}
	}
	switch {
	case guest == "":
		f.e.absent("virtual.machine", "this kernel has no kern.vm_guest")
	case guest == "none":
		v.Machine, v.From = ptr(false), from
	default:
		v.Machine, v.From, v.Hypervisor = ptr(true), from, freebsdGuests[guest]
		if v.Hypervisor == "" {
			v.Hypervisor = guest
		}
	}
	v.PVSpinlocks, v.PVSpinlocksFrom = ptr(false), "FreeBSD has none"
	if j := f.number("virtual.jail", "security.jail.jailed"); j != nil {
		v.Jail = ptr(*j != 0)
	}
	f.e.absent("virtual.container", "on FreeBSD: see jail")
}

func (f freebsd) sched() {
	s := &f.e.Sched
	if s.Name = f.text("sched.name", "kern.sched.name"); s.Name != "" {
		s.From = "kern.sched.name"
	}
	s.Available = f.text("sched.available", "kern.sched.available") // FreeBSD 16
	s.Knobs = f.below("sched.knobs", "kern.sched", ".topology_spec", ".delivered", ".requested")
	for name := range s.Knobs {
		if strings.HasPrefix(name, "kern.sched.stats.") {
			delete(s.Knobs, name) // counters
		}
	}
	p := f.number("sched.preemption", "kern.sched.preemption")
	_, full := f.e.Kernel.Config["FULL_PREEMPTION"]
	switch {
	case p == nil:
	case *p == 0:
		s.Preemption = Preemption{Model: "off", Static: "off"}
	case full:
		s.Preemption = Preemption{Model: "full", Static: "full"}
	default:
		s.Preemption = Preemption{Model: "on", Static: "on"}
	}
	if p != nil {
		s.Preemption.From, s.Preemption.Dynamic = "kern.sched.preemption", ptr(false)
	}
	f.e.absent("sched.base_slice_ns", "see sched.knobs: kern.sched.quantum")
	f.e.absent("sched.cpu_accounting", "FreeBSD samples user and system at clock.stat_hz and scales them to measured run time")
}

func (f freebsd) sysctls() {
	e := f.e
	e.Sysctl = map[string]string{}
	for _, node := range []string{"net.local", "kern.ipc", "kern.smp", "kern.threads"} {
		for name, v := range f.below("sysctl."+node, node,
			// Lists, and what is in use at this moment.
			"pcblist", "_list", "sockcount", "taskcount", "recycled", "deferred", "inflight", "numopensockets", "pipekva",
			"pipefragretry", "pipeallocfail", "piperesizefail", "num_procs", "empty_retries", "empty_results", "num_snd_tags") {
			e.Sysctl[name] = v
		}
	}
	for _, name := range []string{"kern.maxfiles", "kern.maxfilesperproc", "kern.maxproc", "kern.maxprocperuid",
		"net.inet.tcp.sendspace", "net.inet.tcp.recvspace", "net.inet.tcp.functions_default", "net.inet.tcp.cc.algorithm",
		"net.isr.dispatch", "net.isr.maxthreads", "net.isr.numthreads", "net.isr.bindthreads", "kern.random.sys.seeded"} {
		if v, err := f.s.Get(name); err == nil {
			e.Sysctl[name] = v
		}
	}
}

// load reads struct loadavg (sys/resource.h): three fixed-point numbers of 32
// bits, and their scale as a long after four bytes of padding.
func (f freebsd) load() {
	raw, err := f.s.Raw("vm.loadavg")
	if err == nil && len(raw) < 24 {
		err = fmt.Errorf("%d bytes, not 24", len(raw))
	}
	if err == nil && binary.LittleEndian.Uint64(raw[16:]) == 0 {
		err = errors.New("its scale is 0")
	}
	if err != nil {
		for _, name := range []string{"load.load1", "load.load5", "load.load15"} {
			f.e.absent(name, sysctlWhy("vm.loadavg", err))
		}
	} else {
		scale := float64(binary.LittleEndian.Uint64(raw[16:]))
		at := func(i int) *float64 { return ptr(float64(binary.LittleEndian.Uint32(raw[4*i:])) / scale) }
		f.e.Load.Load1, f.e.Load.Load5, f.e.Load.Load15 = at(0), at(1), at(2)
	}
	f.e.absent("load.cpu_pressure_10s", "FreeBSD has none")
}

func (f freebsd) host() {
	h := &f.e.Host
	h.Name = f.text("host.name", "kern.hostname")
	if f.e.Kernel.OS != "" && f.e.Kernel.Release != "" {
		h.OS = f.e.Kernel.OS + " " + f.e.Kernel.Release
	}
	if n := f.number("host.memory_total", "hw.physmem"); n != nil {
		h.MemoryTotal = ptr(uint64(*n))
	}
	page, free, inactive := f.number("host.memory_available", "vm.stats.vm.v_page_size"),
		f.number("host.memory_available", "vm.stats.vm.v_free_count"), f.number("host.memory_available", "vm.stats.vm.v_inactive_count")
	if page != nil && free != nil && inactive != nil {
		h.MemoryAvailable = ptr(uint64(*page) * uint64(*free+*inactive))
	}
	f.e.absent("host.transparent_huge_pages", "FreeBSD has none by that name")
	f.e.absent("host.gopsutil_virtualization", "gopsutil's host facts on FreeBSD come from programs that may not be there")
}

// CPU time in kern.cp_time (sys/resource.h): user, nice, system, interrupt,
// idle, summed over all CPUs in ticks of stathz.
const (
	cpUser = iota
	cpNice
	cpSys
	cpIntr
	cpIdle
	cpStates
)

// hostFromSysctl is ReadHost on FreeBSD.
func hostFromSysctl(s Sysctl) HostCounters {
	c := HostCounters{
		At:        time.Now(),
		StealNS:   Figure{Why: "FreeBSD does not count it"},
		Throttled: Figure{Why: "FreeBSD has no cgroups"},
		FreqKHz:   Figure{Why: "reading it may stop a FreeBSD CPU for a millisecond"},
	}
	ticks, err := cpTime(s)
	if err != nil {
		c.BusyNS, c.IrqNS = Figure{Why: err.Error()}, Figure{Why: err.Error()}
		return c
	}
	_, stathz, err := sysctlClockrate(s)
	if err != nil {
		c.BusyNS, c.IrqNS = Figure{Why: err.Error()}, Figure{Why: err.Error()}
		return c
	}
	ns := func(t int64) Figure { return Figure{Value: t/stathz*1e9 + t%stathz*1e9/stathz} }
	c.BusyNS = ns(ticks[cpUser] + ticks[cpNice] + ticks[cpSys] + ticks[cpIntr])
	c.IrqNS = ns(ticks[cpIntr])
	return c
}

func cpTime(s Sysctl) (ticks [cpStates]int64, err error) {
	raw, err := s.Raw("kern.cp_time")
	if err != nil {
		return ticks, errors.New(sysctlWhy("kern.cp_time", err))
	}
	if len(raw) != 8*cpStates {
		return ticks, fmt.Errorf("kern.cp_time: %d bytes, not %d", len(raw), 8*cpStates)
	}
	for i := range ticks {
		ticks[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return ticks, nil
}
