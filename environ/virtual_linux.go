package environ

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelLog is what the kernel printed, or why it cannot be read.
type kernelLog struct {
	text string
	err  error
}

// Actions of syslog(2).
const (
	syslogReadAll = 3
	syslogSize    = 10
)

// kernelLog reads the kernel's ring buffer; of a recorded tree, its
// /var/log/dmesg. (On a live machine that file may be of another boot.)
func (t tree) kernelLog() kernelLog {
	if !t.live {
		s, err := t.read("/var/log/dmesg")
		if err != nil {
			err = errors.New(why("/var/log/dmesg", err))
		}
		return kernelLog{s, err}
	}
	size, err := unix.Klogctl(syslogSize, nil)
	if err == nil {
		buf := make([]byte, size+4096)
		if size, err = unix.Klogctl(syslogReadAll, buf); err == nil {
			return kernelLog{text: string(buf[:size])}
		}
	}
	if errors.Is(err, os.ErrPermission) {
		err = errors.New("the kernel log is not readable: run as root, or set kernel.dmesg_restrict to 0")
	} else {
		err = fmt.Errorf("the kernel log is not readable: %w", err)
	}
	return kernelLog{err: err}
}

// whole says that the log still holds the boot: its first line is of time 0.
func (l kernelLog) whole() bool {
	first, _, _ := strings.Cut(l.text, "\n")
	return strings.Contains(first, "[    0.000000]")
}

// last is what follows the last occurrence of a text, up to the end of its line.
func (l kernelLog) last(after string) (string, bool) {
	i := strings.LastIndex(l.text, after)
	if i < 0 {
		return "", false
	}
	rest, _, _ := strings.Cut(l.text[i+len(after):], "\n")
	return strings.TrimSpace(rest), true
}

func (t tree) virtual(log kernelLog) {
	t.hypervisor(log)
	t.spinlocks(log)
	t.container()
	t.e.absent("virtual.jail", "Linux has none")
}

// dmiVendors are what virtual machines call themselves in their DMI tables.
var dmiVendors = []struct{ in, hypervisor string }{
	{"QEMU", "QEMU"}, {"KVM", "KVM"}, {"Bochs", "Bochs"}, {"VMware", "VMware"}, {"innotek", "VirtualBox"},
	{"VirtualBox", "VirtualBox"}, {"Virtual Machine", "Hyper-V"}, {"HVM domU", "Xen"}, {"Xen", "Xen"},
	{"Parallels", "Parallels"}, {"BHYVE", "bhyve"}, {"Google Compute", "KVM"}, {"OpenStack", "KVM"},
	{"DigitalOcean", "KVM"}, {"Alibaba Cloud ECS", "KVM"}, {"Apple Virtualization", "Apple"}, {"Firecracker", "KVM"},
}

// hypervisor gathers signs in the order of their worth. The processor flag is
// a sure yes or no on x86; the others can only say yes.
func (t tree) hypervisor(log kernelLog) {
	v := &t.e.Virtual
	say := func(name, from string) {
		if v.Machine == nil {
			v.Machine, v.From = ptr(true), from
		}
		if v.Hypervisor == "" && name != "" {
			v.Hypervisor = name
		}
	}
	flags, x86 := t.cpuFlags()
	if x86 && flags["hypervisor"] {
		say("", "the hypervisor flag in /proc/cpuinfo")
	}
	if s := t.try("/sys/hypervisor/type"); s != "" {
		say(strings.ToUpper(s[:1])+s[1:], "/sys/hypervisor/type")
	}
	if s, ok := log.last("Hypervisor detected: "); ok {
		say(s, "the kernel log")
	}
	clocks := " " + t.try("/sys/devices/system/clocksource/clocksource0/available_clocksource") + " "
	for clock, name := range map[string]string{" kvm-clock ": "KVM", " hyperv_clocksource": "Hyper-V", " xen ": "Xen"} {
		if strings.Contains(clocks, clock) {
			say(name, "the clock sources on offer")
		}
	}
	dmi := t.try("/sys/class/dmi/id/sys_vendor") + " / " + t.try("/sys/class/dmi/id/product_name")
	for _, d := range dmiVendors {
		if strings.Contains(dmi, d.in) {
			say(d.hypervisor, "/sys/class/dmi/id: "+dmi)
			break
		}
	}
	if s := t.try("/proc/device-tree/hypervisor/compatible"); s != "" {
		say(s, "/proc/device-tree/hypervisor")
	}
	switch {
	case v.Machine != nil && v.Hypervisor == "":
		t.e.absent("virtual.hypervisor", "nothing readable names it")
	case v.Machine != nil:
	case x86:
		v.Machine, v.From = ptr(false), "no hypervisor flag in /proc/cpuinfo"
	default:
		t.e.absent("virtual.machine", "no sign of a hypervisor, but this processor has no flag that would prove its absence")
	}
}

// cpuFlags are the x86 flags of the first processor; x86 is false where there
// are none of them.
func (t tree) cpuFlags() (flags map[string]bool, x86 bool) {
	keys := parseKeys(t.try("/proc/cpuinfo"), ":")
	line, x86 := keys["flags"]
	flags = map[string]bool{}
	for _, f := range strings.Fields(line) {
		flags[f] = true
	}
	return flags, x86 && flags["fpu"] // other architectures have flags too, but no fpu
}

// spinlocks says whether contended spinlocks go through the hypervisor. The
// kernel says so at boot only (kvm_spinlock_init in arch/x86/kernel/kvm.c and
// its like for Xen and Hyper-V), so that this is often not known.
func (t tree) spinlocks(log kernelLog) {
	v := &t.e.Virtual
	set := func(on bool, from string) { v.PVSpinlocks, v.PVSpinlocksFrom = &on, from }
	config, haveConfig := t.e.Kernel.Config, t.e.Kernel.ConfigFrom != ""
	flags, x86 := t.cpuFlags()
	if line, ok := log.last("PV spinlocks "); ok {
		set(strings.HasPrefix(line, "enabled"), "the kernel log: PV spinlocks "+line)
		return
	}
	switch {
	case !x86 && (t.e.Kernel.Machine == "aarch64" || t.e.Kernel.Machine == "riscv64"):
		set(false, t.e.Kernel.Machine+" kernels have none")
	case x86 && !flags["hypervisor"]:
		set(false, "no hypervisor flag in /proc/cpuinfo")
	case haveConfig && config["PARAVIRT_SPINLOCKS"] != "y":
		set(false, "CONFIG_PARAVIRT_SPINLOCKS is not set")
	case hasWord(t.e.Kernel.Cmdline, "nopvspin"):
		set(false, "nopvspin on the kernel command line")
	case strings.Contains(log.text, "Booting paravirtualized kernel on bare hardware"):
		set(false, "the kernel log: booted as on bare hardware")
	case log.err != nil:
		t.e.absent("virtual.pv_spinlocks", "the kernel says it at boot only, and "+log.err.Error())
	case !log.whole():
		t.e.absent("virtual.pv_spinlocks", "the kernel says it at boot only, and its log no longer holds the boot")
	default:
		t.e.absent("virtual.pv_spinlocks", "the kernel's boot messages do not say")
	}
}

func hasWord(s, word string) bool {
	for _, w := range strings.Fields(s) {
		if w == word {
			return true
		}
	}
	return false
}

// initialPIDNS is the inode of the first PID namespace of every kernel since
// 3.8 (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const initialPIDNS = "pid:[4026531836]"

var containerInCgroup = regexp.MustCompile(`(docker|libpod|podman|kubepods|lxc|containerd|crio|garden)`)

// container asks for the namespace first: a process in the machine's own PID
// namespace is in no container, whatever files lie about.
func (t tree) container() {
	v := &t.e.Virtual
	ns, err := os.Readlink(t.path("/proc/self/ns/pid"))
	if err == nil && ns == initialPIDNS {
		v.Container = "none"
		return
	}
	switch {
	case t.try("/run/systemd/container") != "":
		v.Container = t.try("/run/systemd/container")
	case t.exists("/run/.containerenv"):
		v.Container = "podman"
	case containerInCgroup.MatchString(t.try("/proc/self/cgroup")):
		v.Container = containerInCgroup.FindString(t.try("/proc/self/cgroup"))
	case err == nil && t.exists("/.dockerenv"):
		v.Container = "docker"
	case err == nil:
		v.Container = "unknown" // a PID namespace of its own, and no more to be learnt
	default:
		t.e.absent("virtual.container", why("/proc/self/ns/pid", err))
	}
}
