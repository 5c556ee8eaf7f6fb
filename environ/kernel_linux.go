package environ

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func (t tree) kernel() {
	k := &t.e.Kernel
	k.OS = t.try("/proc/sys/kernel/ostype")
	if k.OS == "" {
		k.OS = "Linux"
	}
	k.Release = t.text("kernel.release", "/proc/sys/kernel/osrelease")
	k.Version = t.text("kernel.version", "/proc/sys/kernel/version")
	k.Machine = t.machine()
	k.Cmdline = t.text("kernel.cmdline", "/proc/cmdline")
	k.Tainted = t.text("kernel.tainted", "/proc/sys/kernel/tainted")
	if up, err := t.read("/proc/uptime"); err != nil {
		t.e.absent("kernel.uptime_s", why("/proc/uptime", err))
	} else if k.UptimeS = firstFloat(up); k.UptimeS == nil {
		t.e.absent("kernel.uptime_s", "/proc/uptime holds no number")
	}

	const notes = "/sys/kernel/notes"
	if b, err := os.ReadFile(t.path(notes)); err != nil {
		t.e.absent("kernel.build_id", why(notes, err))
	} else if k.BuildID, err = noteBuildID(b, binary.NativeEndian); err != nil {
		t.e.absent("kernel.build_id", notes+": "+err.Error())
	}

	if text, from, err := t.config(k.Release); err != nil {
		t.e.absent("kernel.config_sha256", err.Error())
		t.e.absent("kernel.config", err.Error())
	} else {
		sum := sha256.Sum256([]byte(text))
		k.ConfigHash, k.ConfigFrom = hex.EncodeToString(sum[:]), from
		k.Config = parseConfig(text)
	}
	if k.Debug = t.debugging(k.Config); k.Debug == nil && k.ConfigFrom != "" {
		k.Debug = []string{}
	} else if k.Debug == nil {
		t.e.absent("kernel.debug", "the kernel's configuration is not readable; there is no sign of lockdep or lock_stat")
	}
	for _, name := range []string{"ident", "osreldate", "tunables"} {
		t.e.absent("kernel."+name, "Linux has none")
	}
}

// machine is uname -m; a file only since Linux 6.1.
func (t tree) machine() string {
	m, err := t.read("/proc/sys/kernel/arch")
	if err == nil {
		return m
	}
	var u unix.Utsname
	if t.live && unix.Uname(&u) == nil {
		return unix.ByteSliceToString(u.Machine[:])
	}
	t.e.absent("kernel.machine", why("/proc/sys/kernel/arch", err))
	return ""
}

// config finds the configuration that the kernel was built with: in itself
// (CONFIG_IKCONFIG_PROC), or where distributions put it.
func (t tree) config(release string) (text, from string, err error) {
	const inKernel = "/proc/config.gz"
	if f, err := os.Open(t.path(inKernel)); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return "", "", errors.New(why(inKernel, err))
		}
		b, err := io.ReadAll(io.LimitReader(z, maxFile))
		if err != nil {
			return "", "", errors.New(why(inKernel, err))
		}
		return string(b), inKernel, nil
	}
	if release == "" {
		return "", "", errors.New("there is no " + inKernel + ", and the kernel's release is not known")
	}
	places := []string{"/boot/config-" + release, "/lib/modules/" + release + "/config", "/usr/lib/modules/" + release + "/config"}
	for _, p := range places {
		b, err := os.ReadFile(t.path(p))
		if err == nil {
			return string(b), p, nil
		}
		if errors.Is(err, os.ErrPermission) {
			return "", "", errors.New(why(p, err))
		}
	}
	return "", "", errors.New("there is no " + inKernel + " nor " + strings.Join(places[:2], " nor "))
}

// configWanted are the options that change what a socket, a wake-up or a lock
// costs, or how it can be seen.
var configWanted = strings.Fields(`
	PREEMPT_NONE PREEMPT_VOLUNTARY PREEMPT PREEMPT_LAZY PREEMPT_RT PREEMPT_DYNAMIC
	HZ NO_HZ_IDLE NO_HZ_FULL HZ_PERIODIC HIGH_RES_TIMERS
	SCHED_CLASS_EXT SCHED_AUTOGROUP SCHED_CORE SCHEDSTATS SCHED_DEBUG CFS_BANDWIDTH FAIR_GROUP_SCHED UCLAMP_TASK NUMA_BALANCING SCHED_MC SCHED_SMT SCHED_CLUSTER
	TICK_CPU_ACCOUNTING VIRT_CPU_ACCOUNTING_GEN VIRT_CPU_ACCOUNTING_NATIVE IRQ_TIME_ACCOUNTING PARAVIRT_TIME_ACCOUNTING
	PARAVIRT PARAVIRT_SPINLOCKS QUEUED_SPINLOCKS QUEUED_RWLOCKS MUTEX_SPIN_ON_OWNER RWSEM_SPIN_ON_OWNER LOCK_EVENT_COUNTS
	UNIX AF_UNIX_OOB UNIX_SCM SECURITY_NETWORK SECURITY_PATH SECURITY_SELINUX SECURITY_APPARMOR AUDITSYSCALL MEMCG CGROUP_BPF
	LOCKDEP PROVE_LOCKING LOCK_STAT DEBUG_SPINLOCK DEBUG_MUTEXES DEBUG_RT_MUTEXES DEBUG_RWSEMS DEBUG_LOCK_ALLOC DEBUG_ATOMIC_SLEEP DEBUG_PREEMPT
	DEBUG_OBJECTS DEBUG_KMEMLEAK DEBUG_KMEMLEAK_DEFAULT_OFF DEBUG_PAGEALLOC_ENABLE_DEFAULT SLUB_DEBUG_ON KASAN KCSAN KMSAN UBSAN KCOV
	INIT_ON_ALLOC_DEFAULT_ON INIT_ON_FREE_DEFAULT_ON HARDENED_USERCOPY RANDOMIZE_KSTACK_OFFSET_DEFAULT STACKPROTECTOR_STRONG CFI_CLANG
	MITIGATION_PAGE_TABLE_ISOLATION PAGE_TABLE_ISOLATION MITIGATION_RETPOLINE RETPOLINE CPU_MITIGATIONS SPECULATION_MITIGATIONS
	LTO_CLANG AUTOFDO_CLANG PROPELLER_CLANG CC_OPTIMIZE_FOR_SIZE FTRACE FUNCTION_TRACER`)

// parseConfig reads a kernel's .config: CONFIG_NAME=VALUE lines. Options that
// are not set are not in the result.
func parseConfig(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.HasPrefix(name, "CONFIG_") {
			all[strings.TrimPrefix(name, "CONFIG_")] = strings.Trim(value, `"`)
		}
	}
	wanted := map[string]string{}
	for _, name := range configWanted {
		if v, ok := all[name]; ok {
			wanted[name] = v
		}
	}
	return wanted
}

// linuxDebug are the options that slow every lock or allocation while they
// are compiled in, whether or not anybody looks at what they find.
var linuxDebug = strings.Fields(`LOCKDEP PROVE_LOCKING LOCK_STAT DEBUG_SPINLOCK DEBUG_MUTEXES DEBUG_RT_MUTEXES DEBUG_RWSEMS
	DEBUG_LOCK_ALLOC DEBUG_ATOMIC_SLEEP DEBUG_PREEMPT DEBUG_OBJECTS DEBUG_PAGEALLOC_ENABLE_DEFAULT SLUB_DEBUG_ON KASAN KCSAN KMSAN KCOV`)

func (t tree) debugging(config map[string]string) []string {
	on := map[string]bool{}
	for _, o := range linuxDebug {
		if config[o] == "y" {
			on[o] = true
		}
	}
	// Present as files whether or not the configuration can be read.
	if t.exists("/proc/lockdep") || t.exists("/proc/lockdep_stats") {
		on["LOCKDEP"] = true
	}
	if t.exists("/proc/lock_stat") {
		on["LOCK_STAT"] = true
	}
	return sortedKeys(on)
}

func firstFloat(s string) *float64 {
	word, _, _ := strings.Cut(s, " ")
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return nil
	}
	return &f
}
