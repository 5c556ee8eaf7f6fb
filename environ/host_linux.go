package environ

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"
)

// Of gopsutil only what reads files is called, and nothing of its package cpu,
// whose start-up reads /proc/stat in every process that links it: a worker is
// such a process. Its reading of the distribution's name may run lsb_release,
// and its load average stops the program at a short line: both are read here.
func (t tree) gopsutil() context.Context {
	return context.WithValue(context.Background(), common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: t.path("/proc"),
		common.HostSysEnvKey:  t.path("/sys"),
		common.HostEtcEnvKey:  t.path("/etc"),
		common.HostRootEnvKey: t.root,
	})
}

func (t tree) load() {
	l := &t.e.Load
	if text, err := t.read("/proc/loadavg"); err != nil {
		t.noLoad(why("/proc/loadavg", err))
	} else if f := strings.Fields(text); len(f) < 3 {
		t.noLoad("/proc/loadavg holds no three averages")
	} else if l.Load1, l.Load5, l.Load15 = firstFloat(f[0]), firstFloat(f[1]), firstFloat(f[2]); l.Load1 == nil || l.Load5 == nil || l.Load15 == nil {
		*l = Load{}
		t.noLoad("/proc/loadavg holds no three averages")
	}
	const pressure = "/proc/pressure/cpu" // Documentation/accounting/psi.rst
	text, err := t.read(pressure)
	if err != nil {
		t.e.absent("load.cpu_pressure_10s", why(pressure, err))
	} else if l.CPUPressure = parsePressure(text); l.CPUPressure == nil {
		t.e.absent("load.cpu_pressure_10s", pressure+" holds no avg10")
	}
}

func (t tree) noLoad(reason string) {
	for _, name := range []string{"load1", "load5", "load15"} {
		t.e.absent("load."+name, reason)
	}
}

// parsePressure reads avg10 of the line "some avg10=0.00 avg60=…".
func parsePressure(text string) *float64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "some avg10="); ok {
			return firstFloat(strings.TrimSpace(rest))
		}
	}
	return nil
}

func (t tree) host() {
	h := &t.e.Host
	h.Name = t.text("host.name", "/proc/sys/kernel/hostname")
	release := t.try("/etc/os-release")
	if release == "" {
		release = t.try("/usr/lib/os-release")
	}
	if h.OS = osRelease(release); h.OS == "" {
		t.e.absent("host.os", "there is no /etc/os-release")
	}
	// gopsutil gives zeros where the file is missing.
	_, err := t.read("/proc/meminfo")
	m, err2 := mem.VirtualMemoryWithContext(t.gopsutil())
	if err = cmp.Or(err, err2); err != nil || m.Total == 0 {
		reason := "/proc/meminfo holds no MemTotal"
		if err != nil {
			reason = why("/proc/meminfo", err)
		}
		t.e.absent("host.memory_total", reason)
		t.e.absent("host.memory_available", reason)
	} else {
		h.MemoryTotal, h.MemoryAvailable = &m.Total, &m.Available
	}
	if s := t.text("host.transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"); s != "" {
		h.HugePages = s
		if _, in, ok := strings.Cut(s, "["); ok {
			h.HugePages, _, _ = strings.Cut(in, "]")
		}
	}
	if !t.live { // gopsutil keeps its first answer for good
		t.e.absent("host.gopsutil_virtualization", "asked on the live machine only")
		t.e.absent("host.euid", "not of a recorded tree")
	} else if system, role, err := host.Virtualization(); err != nil {
		t.e.absent("host.gopsutil_virtualization", err.Error())
	} else if system == "" {
		t.e.absent("host.gopsutil_virtualization", "gopsutil found none")
	} else {
		h.GopsutilVirtual, h.GopsutilRole = system, role
	}
}

// osRelease is PRETTY_NAME of os-release(5).
func osRelease(text string) string {
	return strings.Trim(parseKeys(text, "=")["PRETTY_NAME"], `"'`)
}

// limitNames are the lines of /proc/PID/limits (fs/proc/base.c) by the
// resource's name in setrlimit(2).
var limitNames = map[string]string{
	"Max cpu time": "cpu", "Max file size": "fsize", "Max data size": "data", "Max stack size": "stack",
	"Max core file size": "core", "Max resident set": "rss", "Max processes": "nproc", "Max open files": "nofile",
	"Max locked memory": "memlock", "Max address space": "as", "Max file locks": "locks",
	"Max pending signals": "sigpending", "Max msgqueue size": "msgqueue", "Max nice priority": "nice",
	"Max realtime priority": "rtprio", "Max realtime timeout": "rttime",
}

func (t tree) limits() {
	text := t.text("limits", "/proc/self/limits")
	if text == "" {
		return
	}
	t.e.Limits = parseLimits(text)
}

// parseLimits reads /proc/PID/limits: a name of 25 columns, then soft, hard
// and unit.
func parseLimits(text string) map[string]Limit {
	m := map[string]Limit{}
	for line := range strings.Lines(text) {
		for title, name := range limitNames {
			rest, ok := strings.CutPrefix(line, title+" ")
			if !ok {
				continue
			}
			if words := strings.Fields(rest); len(words) >= 2 && isLimit(words[0]) && isLimit(words[1]) {
				m[name] = Limit{words[0], words[1]}
			}
		}
	}
	return m
}

func isLimit(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil || s == "unlimited"
}

// sysctl reads what decides on sockets, pipes, descriptors and processes.
func (t tree) sysctl() {
	m := map[string]string{}
	for _, pattern := range []string{
		"net/unix/*", "net/core/*", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_congestion_control",
		"net/ipv4/tcp_autocorking", "net/ipv4/tcp_notsent_lowat", "net/ipv4/tcp_tw_reuse", "net/ipv4/tcp_fin_timeout",
		"net/ipv4/tcp_max_syn_backlog", "net/ipv4/tcp_syncookies", "net/ipv4/ip_local_port_range",
		"fs/pipe-*", "fs/file-max", "fs/nr_open", "fs/epoll/max_user_watches",
		"kernel/pid_max", "kernel/threads-max", "vm/max_map_count", "vm/overcommit_memory",
	} {
		for _, p := range t.glob("/proc/sys/" + pattern) {
			if filepath.Base(p) == "netdev_rss_key" { // a random number, and none of ours
				continue
			}
			if s, err := t.read(p); err == nil {
				m[sysctlName(strings.TrimPrefix(p, "/proc/sys/"))] = s
			}
		}
	}
	if len(m) == 0 {
		t.e.absent("sysctl", why("/proc/sys", os.ErrNotExist))
		return
	}
	t.e.Sysctl = m
	for _, name := range []string{"net.unix.max_dgram_qlen", "net.core.somaxconn", "fs.pipe-max-size"} {
		if _, ok := m[name]; !ok {
			t.e.absent("sysctl."+name, "there is no such file under /proc/sys")
		}
	}
}

// sysctlName writes a path under /proc/sys as sysctl(8) does.
func sysctlName(p string) string { return strings.ReplaceAll(p, "/", ".") }
