package environ

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		text string
		want statTimes
		ok   bool
	}{
		{"cpu  1 2 4 8 16 32 64 128 1 2\ncpu0 …", statTimes{busy: 1 + 2 + 4 + 32 + 64, irq: 96, steal: 128}, true},
		{"cpu  1 2 4 8 16 32 64 128\n", statTimes{busy: 103, irq: 96, steal: 128}, true},
		{"cpu  1 2 4 8 16 32 64\n", statTimes{}, false},          // before steal was counted
		{"cpu  1 2 4 8 16 32 64 128 1", statTimes{}, false},      // cut short
		{"cpu  1 2 -4 8 16 32 64 128 1 2\n", statTimes{}, false}, // never negative
		{"cpu0 1 2 4 8 16 32 64 128 1 2\n", statTimes{}, false},  // no sum
		{"cpu  1 2 four 8 16 32 64 128 1\n", statTimes{}, false},
		{"", statTimes{}, false},
	} {
		got, ok := parseStat(c.text)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %+v, %v; want %+v, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestCgroupPlaces(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	const cpu = "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	const unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct {
		what, cgroup, mounts, version string
		dirs                          []string
	}{
		{"v2", "0::/a/b\n", v2, "v2", []string{"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"}},
		{"v2 at the top", "0::/\n", v2, "v2", []string{"/sys/fs/cgroup"}},
		{"v1 beside v2", "4:cpu,cpuacct:/a\n0::/x\n", unified + cpu, "v1", []string{"/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct"}},
		{"a part of v2, own group inside", "0::/pod/c\n", "30 23 0:26 /pod /sys/fs/cgroup rw - cgroup2 c rw\n", "v2", []string{"/sys/fs/cgroup/c", "/sys/fs/cgroup"}},
		{"a part of v2, own group outside", "0::/../other\n", "30 23 0:26 /pod /sys/fs/cgroup rw - cgroup2 c rw\n", "v2", []string{"/sys/fs/cgroup"}},
		{"a blank in the name", "0::/a b\n", `30 23 0:26 / /sys/fs/c\040g rw - cgroup2 c rw` + "\n", "v2", []string{"/sys/fs/c g/a b", "/sys/fs/c g"}},
		{"nothing mounted", "0::/a\n", "", "", nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			root := t.TempDir()
			write := func(p, text string) {
				p = filepath.Join(root, p)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("/proc/self/cgroup", c.cgroup)
			write("/proc/self/mountinfo", c.mounts)
			for _, d := range c.dirs {
				write(d+"/cpu.stat", "")
			}
			version, _, dirs := tree{root: root}.cpuCgroup()
			if version != c.version || !reflect.DeepEqual(dirs, c.dirs) {
				t.Errorf("%s %q, want %s %q", version, dirs, c.version, c.dirs)
			}
		})
	}
}

func TestSmallParsers(t *testing.T) {
	for list, want := range map[string]int{"0-3,8": 5, "0": 1, "1024-1027": 4, "": -1, "3-1": -1, "a": -1, "0-": -1} {
		if got := countList(list); got != want {
			t.Errorf("list %q counts %d, want %d", list, got, want)
		}
	}
	if p := parsePressure("some avg10=1.25 avg60=0.00 avg300=0.00 total=1\nfull avg10=9.00\n"); p == nil || *p != 1.25 {
		t.Errorf("pressure %v, want 1.25", p)
	}
	if p := parsePressure("full avg10=9.00\n"); p != nil {
		t.Errorf("pressure %v from a text without it", *p)
	}
	if got := osRelease("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"); got != "Debian GNU/Linux 12 (bookworm)" {
		t.Errorf("os-release gives %q", got)
	}
	limits := parseLimits("Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max open files            1024                 524288               files     \n" +
		"Max nice priority         0                    0                    \n" +
		"Max cpu time              unlimited            unlimited            seconds   \n")
	if want := map[string]Limit{"nofile": {"1024", "524288"}, "nice": {"0", "0"}, "cpu": {"unlimited", "unlimited"}}; !reflect.DeepEqual(limits, want) {
		t.Errorf("limits %v, want %v", limits, want)
	}
	if c := parseConfig("# CONFIG_LOCKDEP is not set\nCONFIG_HZ=250\nCONFIG_PREEMPT_RT=y\nCONFIG_OTHER=y\n"); !reflect.DeepEqual(c, map[string]string{"HZ": "250", "PREEMPT_RT": "y"}) {
		t.Errorf("configuration %v", c)
	}
}

// A scheduler is known by the kernel's release where its knobs are hidden.
func TestSchedName(t *testing.T) {
	for release, want := range map[string]string{"6.6.0": "EEVDF", "6.5.13": "CFS", "7.0.0-rc1": "EEVDF", "3.10.0-1160.el7": "CFS",
		"2.6.23": "CFS", "2.6.22-14": "O(1)", "2.6.9-89.EL": "O(1)", "2.4.37": "", "": ""} {
		e := &Environment{Unavailable: map[string]string{}, Kernel: Kernel{Release: release}}
		tree{e: e}.schedName(nil)
		if e.Sched.Name != want || (want == "") != (e.Unavailable["sched.name"] != "") {
			t.Errorf("release %q is %q, want %q", release, e.Sched.Name, want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("cpu  2568 0 1552 156170 272 0 29 9 0 0\ncpu0 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parseStat(text); ok && (s.busy < s.irq || s.irq < 0 || s.steal < 0) {
			t.Errorf("%+v from %q", s, text)
		}
	})
}

func FuzzMountinfo(f *testing.F) {
	for _, name := range linuxTrees {
		for _, file := range readTree(f, name) {
			switch file.name {
			case "proc/self/mountinfo", "proc/self/cgroup", "proc/self/limits":
				f.Add(string(file.data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseCgroupMounts(text) {
			if m.version == "" {
				t.Errorf("a mount without version from %q", text)
			}
			dirs := tree{root: "/nowhere"}.climb(m, parseCgroups(text)[""])
			if len(dirs) != 1 {
				t.Errorf("%q exist nowhere", dirs)
			}
		}
		for name, l := range parseLimits(text) {
			if !isLimit(l.Soft) || !isLimit(l.Hard) {
				t.Errorf("%s is %+v", name, l)
			}
		}
	})
}

// FuzzTree puts a text in the place of every small file that decides something.
func FuzzTree(f *testing.F) {
	f.Add("none voluntary (full)", "#1 SMP PREEMPT_DYNAMIC")
	f.Add("(null)", "0-3,8")
	f.Add("150000 100000", "cpu  1 2 3 4 5 6 7 8\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		root := t.TempDir()
		for i, p := range strings.Fields(`proc/sys/kernel/osrelease proc/sys/kernel/version proc/cmdline proc/cpuinfo proc/stat proc/loadavg proc/meminfo
			proc/uptime proc/pressure/cpu sys/devices/system/cpu/online sys/devices/system/cpu/nohz_full sys/kernel/debug/sched/preempt
			sys/kernel/debug/sched/features sys/kernel/notes proc/config.gz var/log/dmesg etc/os-release sys/hypervisor/type`) {
			p = filepath.Join(root, p)
			os.MkdirAll(filepath.Dir(p), 0o755)
			os.WriteFile(p, []byte([]string{a, b}[i%2]), 0o644)
		}
		e := &Environment{Unavailable: map[string]string{}}
		gather(e, root, Option{})
		e.Warnings()
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
		newHostReader(root).read()
	})
}
