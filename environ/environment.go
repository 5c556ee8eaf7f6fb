package environ

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// Schema is the version of the layout of environment.json. It changes when
// the meaning of a field changes, not when a field is added.
const Schema = 1

// Environment is environment.json. Fields that were not to be had are absent;
// Unavailable then holds the field's dotted name ("kernel.build_id") and why.
type Environment struct {
	Schema      int               `json:"schema"`
	Gathered    time.Time         `json:"gathered"`
	BootID      string            `json:"boot_id,omitempty"`            // one boot of one kernel, as the kernel names it
	KernelPrint string            `json:"kernel_fingerprint,omitempty"` // Fingerprint()
	Kernel      Kernel            `json:"kernel"`
	CPU         CPU               `json:"cpu"`
	Clock       Clock             `json:"clock"`
	Virtual     Virtual           `json:"virtual"`
	Sched       Sched             `json:"sched"`
	Cgroup      *Cgroup           `json:"cgroup,omitempty"`
	Limits      map[string]Limit  `json:"limits,omitempty"` // by resource: nofile, nproc, memlock, …
	Sysctl      map[string]string `json:"sysctl,omitempty"` // of sockets, pipes and processes, by dotted name
	Load        Load              `json:"load"`
	Host        Host              `json:"host"`
	Udsbench    Udsbench          `json:"udsbench"`
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// Kernel is the running kernel.
type Kernel struct {
	OS         string            `json:"os,omitempty"`      // Linux, FreeBSD
	Release    string            `json:"release,omitempty"` // as uname -r
	Version    string            `json:"version,omitempty"` // as uname -v
	Machine    string            `json:"machine,omitempty"` // as uname -m
	BuildID    string            `json:"build_id,omitempty"`
	Ident      string            `json:"ident,omitempty"`         // FreeBSD: name of its configuration
	Osreldate  *int64            `json:"osreldate,omitempty"`     // FreeBSD: __FreeBSD_version
	ConfigHash string            `json:"config_sha256,omitempty"` // of the whole configuration text
	ConfigFrom string            `json:"config_from,omitempty"`   // where that text was read
	Config     map[string]string `json:"config,omitempty"`        // the options that change what is measured
	Debug      []string          `json:"debug,omitzero"`          // debugging compiled in that slows every lock or allocation; [] is none
	Cmdline    string            `json:"cmdline,omitempty"`
	Tunables   map[string]string `json:"tunables,omitempty"` // FreeBSD: the kernel environment that the loader left
	Tainted    string            `json:"tainted,omitempty"`  // Linux: the taint mask, 0 is clean
	UptimeS    *float64          `json:"uptime_s,omitempty"`
}

// CPU is the processor and what governs its speed and sleep.
type CPU struct {
	Vendor       string            `json:"vendor,omitempty"`
	Model        string            `json:"model,omitempty"`
	Family       string            `json:"family,omitempty"`
	ModelNumber  string            `json:"model_number,omitempty"`
	Stepping     string            `json:"stepping,omitempty"`
	Microcode    string            `json:"microcode,omitempty"`
	Online       string            `json:"online,omitempty"` // a list, as 0-3,8
	Present      string            `json:"present,omitempty"`
	Count        *int              `json:"count,omitempty"`     // online CPUs
	Governors    []string          `json:"governors,omitempty"` // the distinct ones in use
	FreqDriver   string            `json:"freq_driver,omitempty"`
	EnergyPrefs  []string          `json:"energy_preferences,omitempty"` // the distinct ones in use
	MinKHz       *int64            `json:"min_khz,omitempty"`            // what the hardware can, cpu 0
	MaxKHz       *int64            `json:"max_khz,omitempty"`
	Turbo        *bool             `json:"turbo,omitempty"`
	IdleDriver   string            `json:"idle_driver,omitempty"`
	IdleGovernor string            `json:"idle_governor,omitempty"`
	IdleStates   []IdleState       `json:"idle_states,omitempty"` // of cpu 0, shallowest first
	SMT          *bool             `json:"smt,omitempty"`         // siblings are online
	SMTControl   string            `json:"smt_control,omitempty"` // on, off, forceoff, notsupported, notimplemented; FreeBSD: hyperthreading_allowed
	Mitigations  map[string]string `json:"mitigations,omitempty"`
}

// IdleState is one state in which an idle CPU may sleep.
type IdleState struct {
	Name      string `json:"name"`
	Desc      string `json:"desc,omitempty"`
	LatencyUS *int64 `json:"latency_us,omitempty"` // to wake, as its driver says
	Disabled  *bool  `json:"disabled,omitempty"`
}

// Clock is where time comes from.
type Clock struct {
	Source      string            `json:"source,omitempty"`
	Available   []string          `json:"available,omitempty"`
	HZ          *int64            `json:"hz,omitempty"`
	StatHZ      *int64            `json:"stat_hz,omitempty"`     // ticks a second in which the kernel reports CPU time
	Timecounter map[string]string `json:"timecounter,omitempty"` // FreeBSD: kern.timecounter.*
	Eventtimer  map[string]string `json:"eventtimer,omitempty"`  // FreeBSD: kern.eventtimer.*
	TSCHz       *int64            `json:"tsc_hz,omitempty"`
}

// Virtual says whether a hypervisor or a container stands between this
// process and the machine.
type Virtual struct {
	Machine         *bool  `json:"machine,omitempty"` // this is a virtual machine
	Hypervisor      string `json:"hypervisor,omitempty"`
	From            string `json:"from,omitempty"`         // what said so
	PVSpinlocks     *bool  `json:"pv_spinlocks,omitempty"` // contended spinlocks go through the hypervisor
	PVSpinlocksFrom string `json:"pv_spinlocks_from,omitempty"`
	Container       string `json:"container,omitempty"` // its kind, or "none"
	Jail            *bool  `json:"jail,omitempty"`      // FreeBSD
}

// Sched is which scheduler this is and what it was told.
type Sched struct {
	Name          string            `json:"name,omitempty"` // EEVDF, CFS, O(1), ULE, 4BSD
	From          string            `json:"from,omitempty"` // what said so
	Available     string            `json:"available,omitempty"`
	Ext           *SchedExt         `json:"sched_ext,omitempty"`
	Preemption    Preemption        `json:"preemption"`
	BaseSliceNS   *int64            `json:"base_slice_ns,omitempty"`
	Knobs         map[string]string `json:"knobs,omitempty"` // of debugfs sched/ and kernel.sched_*, or kern.sched.*
	NUMABalancing string            `json:"numa_balancing,omitempty"`
	Autogroup     *bool             `json:"autogroup,omitempty"`
	AutogroupSelf string            `json:"autogroup_self,omitempty"`
	Isolated      string            `json:"isolated,omitempty"`       // a list of CPUs, or "none"
	NohzFull      string            `json:"nohz_full,omitempty"`      // a list of CPUs, or "none"
	CPUAccounting string            `json:"cpu_accounting,omitempty"` // how user and system are told apart: tick, gen, native
	IRQAccounting *bool             `json:"irq_accounting,omitempty"` // interrupt time is measured, not sampled
}

// SchedExt is Linux's class of schedulers written in BPF.
type SchedExt struct {
	State string `json:"state"`
	Ops   string `json:"ops,omitempty"` // name of the loaded scheduler
}

// Preemption is where the kernel lets itself be preempted.
type Preemption struct {
	Model   string `json:"model,omitempty"`   // in force: none, voluntary, full, lazy, rt; FreeBSD: on, off, full
	From    string `json:"from,omitempty"`    // what said so
	Static  string `json:"static,omitempty"`  // chosen when it was compiled
	Dynamic *bool  `json:"dynamic,omitempty"` // can be switched at boot or at run time
}

// Cgroup is the control group of this process, as far as it decides on CPU time.
type Cgroup struct {
	Version   string        `json:"version"`        // v1 or v2: where the cpu controller is
	Path      string        `json:"path"`           // as /proc/self/cgroup says
	CPUs      string        `json:"cpus,omitempty"` // CPUs that its cpuset allows
	QuotaCPUs *float64      `json:"quota_cpus,omitempty"`
	Levels    []CgroupLevel `json:"levels,omitempty"` // own group first, then those it lies in
}

// CgroupLevel is what one group says of CPU time.
type CgroupLevel struct {
	Path   string `json:"path"`
	Weight *int64 `json:"weight,omitempty"` // v2: 1 to 10000, 100 by default
	Shares *int64 `json:"shares,omitempty"` // v1: 2 to 262144, 1024 by default
	Quota  string `json:"quota,omitempty"`  // "QUOTA PERIOD" in microseconds; QUOTA is max without a limit
}

// Limit is one resource limit of this process: a number, or "unlimited". The
// Go runtime has raised nofile's soft limit to its hard limit before any code
// here runs.
type Limit struct {
	Soft string `json:"soft"`
	Hard string `json:"hard"`
}

// Load is what else wanted the CPUs when the session began.
type Load struct {
	Load1       *float64 `json:"load1,omitempty"`
	Load5       *float64 `json:"load5,omitempty"`
	Load15      *float64 `json:"load15,omitempty"`
	CPUPressure *float64 `json:"cpu_pressure_10s,omitempty"` // percent of the last 10 s in which some task waited for a CPU
}

// Host is the machine around the kernel.
type Host struct {
	Name            string  `json:"name,omitempty"`
	OS              string  `json:"os,omitempty"` // the distribution's own name for itself
	MemoryTotal     *uint64 `json:"memory_total,omitempty"`
	MemoryAvailable *uint64 `json:"memory_available,omitempty"`
	HugePages       string  `json:"transparent_huge_pages,omitempty"`
	EUID            *int    `json:"euid,omitempty"`
	// What gopsutil says of virtualisation, as a second opinion only: it
	// takes a file /.dockerenv for a container, which some virtual machines
	// carry in their images.
	GopsutilVirtual string `json:"gopsutil_virtualization,omitempty"`
	GopsutilRole    string `json:"gopsutil_role,omitempty"`
}

// Option changes where Gather looks.
type Option struct {
	// Sysctl answers for a FreeBSD kernel. With nil, a FreeBSD system asks
	// its own kernel; elsewhere Linux's files are read.
	Sysctl Sysctl
	// Kenv is FreeBSD's kernel environment. With nil and no Sysctl, a FreeBSD
	// system asks its own kernel.
	Kenv map[string]string
}

// Gather reads the environment under root, which is "/" for this machine or
// the top of a recorded tree. It never fails: what it could not learn is in
// Unavailable. It takes some 10 ms, and more where the binary is hashed from
// a slow disk.
func Gather(root string, opt Option) *Environment {
	e := &Environment{Schema: Schema, Gathered: time.Now().UTC(), Unavailable: map[string]string{}}
	gather(e, root, opt)
	e.KernelPrint = e.Fingerprint()
	if e.KernelPrint == "" {
		e.absent("kernel_fingerprint", "needs the kernel's release and version, which are not known")
	}
	return e
}

// Fingerprint names the kernel that is running, whatever boot of it this is:
// the first 12 hexadecimal digits of the SHA-256 of its operating system,
// release, version, machine and build id. The command line, loader tunables,
// and configuration are left out: the first two belong to a boot, and whether
// the third can be read depends on privilege. Two kernels built from different
// sources differ in build id, or, where there is none, in version (which holds
// the time of the build). It is "" where release or version is not known.
func (e *Environment) Fingerprint() string {
	k := e.Kernel
	if k.Release == "" || k.Version == "" {
		return ""
	}
	h := sha256.New()
	for _, s := range []string{k.OS, k.Release, k.Version, k.Machine, k.BuildID} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// absent notes that a figure could not be had. The first reason stays.
func (e *Environment) absent(name, why string) {
	if _, ok := e.Unavailable[name]; !ok {
		e.Unavailable[name] = why
	}
}

// why says in plain words what kept path from being read.
func why(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no " + path
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() == 0:
		return path + " is not readable even by root: a container, or a kernel that is locked down"
	case errors.Is(err, fs.ErrPermission):
		return path + " is not readable: run as root"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return path + ": " + err.Error()
}

func ptr[T any](v T) *T { return &v }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
