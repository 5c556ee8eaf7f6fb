package environ

import (
	"compress/gzip"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type file struct {
	name string
	data []byte
}

// readTree reads a recorded tree: a comment, then sections that each begin
// with a line "-- NAME --" (the txtar format).
func readTree(t testing.TB, name string) []file {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	for line := range strings.Lines(string(b)) {
		if s, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- "); ok && strings.HasSuffix(s, " --") {
			files = append(files, file{name: strings.TrimSuffix(s, " --")})
		} else if len(files) > 0 {
			f := &files[len(files)-1]
			f.data = append(f.data, line...)
		}
	}
	return files
}

// plant writes a recorded tree below a new directory.
func plant(t testing.TB, name string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range readTree(t, name) {
		p, data := filepath.Join(root, f.name), f.data
		switch {
		case strings.HasSuffix(p, ".hex"):
			p = strings.TrimSuffix(p, ".hex")
			var err error
			if data, err = hex.DecodeString(strings.TrimSpace(string(data))); err != nil {
				t.Fatal(err)
			}
		case strings.HasSuffix(p, ".gz.text"):
			p = strings.TrimSuffix(p, ".text")
			var b strings.Builder
			z := gzip.NewWriter(&b)
			z.Write(data)
			z.Close()
			data = []byte(b.String())
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var linuxTrees = []string{"linux-6.1-cloud", "linux-6.1-rt", "linux-6.12-cloud", "linux-6.18-kvm", "linux-bare-metal", "linux-arm64-container"}

func TestLinuxGolden(t *testing.T) {
	for _, name := range linuxTrees {
		t.Run(name, func(t *testing.T) { golden(t, name, Gather(plant(t, name), Option{})) })
	}
}

// What each recorded machine is, as the one who booted it knows.
func TestLinuxRecorded(t *testing.T) {
	for _, c := range []struct {
		tree                           string
		sched, preempt, static, pv, vm string
		isolated, accounting, clock    string
		quota                          float64
	}{
		{"linux-6.1-cloud", "CFS", "voluntary", "voluntary", "no", "QEMU", "none", "tick", "hpet", 1.5},
		{"linux-6.1-rt", "CFS", "rt", "rt", "no", "QEMU", "none", "?", "hpet", 1.5},
		{"linux-6.12-cloud", "EEVDF", "full", "voluntary", "no", "QEMU", "3", "tick", "tsc", 1.5},
		{"linux-6.18-kvm", "EEVDF", "none", "none", "yes", "KVM", "none", "tick", "tsc", 0},
		{"linux-bare-metal", "EEVDF", "lazy", "?", "no", "none", "2-3", "?", "hpet", 0},
		{"linux-arm64-container", "CFS", "?", "?", "?", "?", "?", "?", "arch_sys_counter", 0.5},
	} {
		t.Run(c.tree, func(t *testing.T) {
			e := Gather(plant(t, c.tree), Option{})
			or := func(s string) string {
				if s == "" {
					return "?"
				}
				return s
			}
			vm := e.Virtual.Hypervisor
			if e.Virtual.Machine != nil && !*e.Virtual.Machine {
				vm = "none"
			}
			pv := "?"
			if b := e.Virtual.PVSpinlocks; b != nil {
				pv = map[bool]string{true: "yes", false: "no"}[*b]
			}
			quota := 0.0
			if e.Cgroup != nil && e.Cgroup.QuotaCPUs != nil {
				quota = *e.Cgroup.QuotaCPUs
			}
			for _, f := range []struct{ what, got, want string }{
				{"scheduler", e.Sched.Name, c.sched},
				{"preemption", or(e.Sched.Preemption.Model), c.preempt},
				{"static preemption", or(e.Sched.Preemption.Static), c.static},
				{"PV spinlocks", pv, c.pv},
				{"hypervisor", or(vm), c.vm},
				{"isolated", or(e.Sched.Isolated), c.isolated},
				{"accounting", or(e.Sched.CPUAccounting), c.accounting},
				{"clock source", e.Clock.Source, c.clock},
			} {
				if f.got != f.want {
					t.Errorf("%s is %q, want %q", f.what, f.got, f.want)
				}
			}
			if quota != c.quota {
				t.Errorf("quota is %v CPUs, want %v", quota, c.quota)
			}
			if len(e.KernelPrint) != 12 {
				t.Errorf("fingerprint is %q", e.KernelPrint)
			}
		})
	}
}

// Every field that is absent has its reason.
func TestAbsentHasReason(t *testing.T) {
	empty := Gather(t.TempDir(), Option{})
	for _, name := range []string{"boot_id", "kernel_fingerprint", "kernel.release", "kernel.version", "kernel.machine", "kernel.build_id",
		"kernel.config_sha256", "kernel.cmdline", "kernel.tainted", "kernel.uptime_s", "cpu.vendor", "cpu.model", "cpu.microcode", "cpu.online",
		"cpu.count", "cpu.governors", "cpu.freq_driver", "cpu.turbo", "cpu.idle_driver", "cpu.idle_states", "cpu.smt", "cpu.mitigations",
		"clock.source", "clock.hz", "virtual.machine", "virtual.pv_spinlocks", "virtual.container", "sched.name", "sched.sched_ext",
		"sched.preemption.model", "sched.preemption.static", "sched.preemption.dynamic", "sched.base_slice_ns", "sched.knobs",
		"sched.numa_balancing", "sched.autogroup", "sched.isolated", "sched.nohz_full", "sched.cpu_accounting", "cgroup", "limits", "sysctl",
		"load.load1", "load.cpu_pressure_10s", "host.name", "host.os", "host.memory_total", "host.transparent_huge_pages"} {
		if empty.Unavailable[name] == "" {
			t.Errorf("an empty tree gives no reason for %s", name)
		}
	}
	if w := empty.Warnings(); len(w) != 0 {
		t.Errorf("an empty tree gives warnings: %q", w)
	}
}

func TestRecordedCounters(t *testing.T) {
	bare := newHostReader(plant(t, "linux-bare-metal")).read()
	if want := int64(100+20+30+6+7) * 1e7; bare.BusyNS != (Figure{Value: want}) {
		t.Errorf("busy %+v, want %d", bare.BusyNS, want)
	}
	if want := int64(13) * 1e7; bare.IrqNS != (Figure{Value: want}) {
		t.Errorf("irq %+v, want %d", bare.IrqNS, want)
	}
	if !bare.StealNS.OK() {
		t.Errorf("bare metal has no steal, and that is known: %+v", bare.StealNS)
	}
	if bare.FreqKHz.Value != 3700000 || !bare.FreqKHz.OK() {
		t.Errorf("frequency %+v, want 3700000", bare.FreqKHz)
	}
	if bare.Throttled.OK() {
		t.Errorf("throttled %+v without a cgroup", bare.Throttled)
	}
	arm := newHostReader(plant(t, "linux-arm64-container")).read()
	if arm.Throttled != (Figure{Value: 12}) {
		t.Errorf("throttled %+v, want 12", arm.Throttled)
	}
	if arm.StealNS.OK() || arm.FreqKHz.OK() {
		t.Errorf("steal %+v and frequency %+v are not known there", arm.StealNS, arm.FreqKHz)
	}
	nested := newHostReader(plant(t, "linux-6.1-cloud"))
	if len(nested.cpuStats) != 3 {
		t.Errorf("cgroup levels that count throttling: %q, want inner, outer and the root", nested.cpuStats)
	}
	none := newHostReader(t.TempDir()).read()
	for name, f := range map[string]Figure{"busy": none.BusyNS, "steal": none.StealNS, "irq": none.IrqNS, "throttled": none.Throttled, "freq": none.FreqKHz} {
		if f.OK() || f.Value != 0 {
			t.Errorf("%s is %+v in an empty tree", name, f)
		}
	}
}

func TestWarningsRecorded(t *testing.T) {
	for _, c := range []struct {
		tree string
		want []string // in order, what each line must hold
	}{
		{"linux-bare-metal", []string{"debugging kernel (LOCKDEP, LOCK_STAT)", "performance and powersave", "turbo is on", "SMT is on",
			"clock source is hpet", "load average 7.25 on 12 CPUs"}},
		{"linux-arm64-container", []string{"CPU quota of 0.50 CPUs by cgroup"}},
		{"linux-6.18-kvm", []string{"virtual machine (KVM)"}},
		{"linux-6.1-cloud", []string{"virtual machine (QEMU)", "clock source is hpet", "CPU quota of 1.50 CPUs by cgroup: workers are stopped when it is used up; lift it (cpu.max of /outer)"}},
	} {
		t.Run(c.tree, func(t *testing.T) {
			e := Gather(plant(t, c.tree), Option{})
			e.Load.Load1 = keepHigh(e.Load.Load1)
			got := e.Warnings()
			if len(got) != len(c.want) {
				t.Fatalf("%d warnings, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i, w := range c.want {
				if !strings.Contains(got[i], w) || strings.Contains(got[i], "\n") {
					t.Errorf("warning %q does not hold %q", got[i], w)
				}
			}
		})
	}
}

// keepHigh drops a load that was the recording's own.
func keepHigh(l *float64) *float64 {
	if l != nil && *l < 7 {
		return nil
	}
	return l
}
