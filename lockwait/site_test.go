package lockwait

import (
	"os"
	"strings"
	"testing"

	"udsbench/kallsyms"
	"udsbench/record"
)

func TestKinds(t *testing.T) {
	for flags, want := range map[uint32]string{
		1: "spinlock", 3: "rwlock:read", 5: "rwlock:write", 2: "rwsem:read", 4: "rwsem:write", 8: "rt_mutex", 10: "rt_mutex:read",
		18: "percpu-rwsem:read", 20: "percpu-rwsem:write", 33: "mutex:spun", 32: "mutex:slept", 0: "semaphore", 0x10000: "futex", 64: "flags 0x40",
	} {
		if have := Kind(flags); have != want {
			t.Errorf("flags %d: %s, want %s", flags, have, want)
		}
	}
}

// The cases are stacks, innermost function first, with what they must give.
func TestSites(t *testing.T) {
	b, err := os.ReadFile("testdata/sites.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			t.Fatalf("%q has %d columns", line, len(f))
		}
		n++
		var frames []kallsyms.Frame
		for _, name := range strings.Fields(f[5]) {
			if name == "?" {
				name = ""
			}
			frames = append(frames, kallsyms.Frame{Name: name})
		}
		flags := map[string]uint32{"spinlock": flagSpin, "mutex:slept": flagMutex, "mutex:spun": flagMutex | flagSpin, "rwsem:write": flagWrite}[f[0]]
		if Kind(flags) != f[0] {
			t.Fatalf("%q: kind", line)
		}
		who := record.InWorkers
		if f[3] == record.InKthread {
			who = f[3]
		}
		rows, own := rowsOf("test", []sample{{flags: flags, who: who, frames: frames, sums: sums{count: 1, total: 5, min: 5, max: 5}}}, false)
		if f[1] == "own" {
			if own != 1 || len(rows) != 0 {
				t.Errorf("%q: %d rows, %d own", line, len(rows), own)
			}
			continue
		}
		if len(rows) != 1 {
			t.Errorf("%q: %d rows", line, len(rows))
			continue
		}
		if r := rows[0]; r.Site+" "+r.Caller != f[1] || r.Class != f[2] || r.Where != f[3] || r.Kind != f[4] {
			t.Errorf("%s: %s %s, class %s, in %s, %s", f[5], r.Site, r.Caller, r.Class, r.Where, r.Kind)
		}
	}
	if n < 10 {
		t.Fatalf("%d cases", n)
	}
}

func TestRowsWithoutAStack(t *testing.T) {
	one := sums{count: 1, total: 1, min: 1, max: 1}
	rows, _ := rowsOf("test", []sample{
		{flags: flagSpin, stackLost: true, sums: one},
		{flags: flagSpin, call: "read()", sums: one},
		{flags: flagFutex, call: "futex()", sums: one},
		{flags: flagSpin, frames: []kallsyms.Frame{{}, {Name: "_raw_spin_lock"}}, sums: one},
	}, false)
	sites := map[string]string{}
	for _, r := range rows {
		sites[r.Site] = r.Class
		if r.Addresses != nil {
			t.Errorf("%s: %d locks, and none was seen", r.Site, *r.Addresses)
		}
	}
	for site, class := range map[string]string{siteLost: record.ClassOther, "read()": record.ClassOther, "futex()": record.ClassUser, siteUnknown: record.ClassOther} {
		if sites[site] != class {
			t.Errorf("%s: class %q, want %q", site, sites[site], class)
		}
	}
}

func TestClassRules(t *testing.T) {
	for _, text := range []string{linuxClasses, freebsdClasses} {
		if rules, err := parseRules(text); err != nil || len(rules) < 10 {
			t.Errorf("%d rules, %v", len(rules), err)
		}
	}
	for _, text := range []string{"a\n", "a\tnonsense\n", "\tsocket\n"} {
		if _, err := parseRules(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestSpinlocksFrom(t *testing.T) {
	for _, c := range []struct {
		arch      string
		guest, rt bool
		log       string
		want      Spinlocks
	}{
		{"amd64", false, false, "", SpinNative},
		{"arm64", true, false, "", SpinNative},
		{"amd64", true, false, "[    0.10] kvm-guest: PV spinlocks enabled\n", SpinParavirt},
		{"amd64", true, false, "[    0.10] kvm-guest: PV spinlocks disabled, no host support\n", SpinTestAndSet},
		{"amd64", true, false, "[    0.10] kvm-guest: PV spinlocks disabled, single CPU\n", SpinNative},
		{"amd64", true, false, "[    0.00] Linux version 6.1\n", SpinTestAndSet},
		{"amd64", true, false, "[99.0] something later\n", SpinUnknown},
		{"amd64", true, true, "PV spinlocks enabled", SpinRT},
	} {
		s := spinlocksFrom(c.arch, c.guest, c.rt, c.log)
		if s != c.want {
			t.Errorf("%+v: %s", c, s)
		}
		if (s.blind() == "") != (s == SpinParavirt) {
			t.Errorf("%s hides %q", s, s.blind())
		}
	}
}
