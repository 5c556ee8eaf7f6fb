package lockwait

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Both sources on one run: the same waits at the same sites on the same locks.
func TestPerfAgreesWithEBPF(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	needTrace(t, newPerf(Options{}))
	for _, name := range []string{"readers", "churn", "rights"} {
		t.Run(name, func(t *testing.T) {
			for range 4 {
				if compareSources(t, name) {
					return
				}
			}
			t.Skip("too few waits to compare: this machine is too busy, or too idle")
		})
	}
}

// compareSources is false where there was too little to compare.
func compareSources(t *testing.T, name string) bool {
	t.Helper()
	c := startLoad(t, name)
	a, b := newEBPF(Options{}), newPerf(Options{})
	target := Target{PIDs: []int{c.cmd.Process.Pid}}
	for _, s := range []Source{a, b} {
		if err := s.Start(target); err != nil {
			t.Fatal(err)
		}
	}
	a.Open()
	b.Open()
	c.run(loadTime)
	b.Close()
	a.Close()
	want, err := a.Stop()
	if err != nil {
		t.Fatal(err)
	}
	have, err := b.Stop()
	if err != nil {
		t.Fatal(err)
	}
	// What is lost are begins and ends: how many of either nobody knows.
	x, y, lostX, lostY := *a.Instrument().Events, *b.Instrument().Events, *a.Instrument().Lost, *b.Instrument().Lost
	t.Logf("%d events by eBPF (%d lost), %d by perf (%d lost)", x, lostX, y, lostY)
	if x < 200 {
		return false
	}
	if (x-lostY-y)*100 > x || (y-lostX-x)*100 > x {
		t.Errorf("%d events by eBPF (%d lost), %d by perf (%d lost)", x, lostX, y, lostY)
	}
	if *a.Instrument().Lost+*b.Instrument().Lost > 0 {
		return true
	}
	for _, w := range want {
		if *w.Count < 100 || w.Kind == "futex" || w.Where != record.InWorkers {
			continue
		}
		found := false
		for _, h := range have {
			if h.Site == w.Site && h.Caller == w.Caller && h.Kind == w.Kind && h.Where == w.Where {
				found = true
				if d := max(*h.Count-*w.Count, *w.Count-*h.Count); d*100 > *w.Count || *h.Addresses != *w.Addresses {
					t.Errorf("%s from %s, %s: %d waits on %d locks by perf, %d on %d by eBPF", w.Site, w.Caller, w.Kind, *h.Count, *h.Addresses, *w.Count, *w.Addresses)
				}
			}
		}
		if !found {
			t.Errorf("perf did not see %s from %s, %s", w.Site, w.Caller, w.Kind)
		}
	}
	return true
}

func TestReadFormat(t *testing.T) {
	b, err := os.ReadFile("testdata/contention_begin.format")
	if err != nil {
		t.Fatal(err)
	}
	f, err := readFormat(string(b))
	if err != nil || f.id != 408 || f.offset["lock_addr"] != 8 || f.offset["flags"] != 16 || f.offset["common_pid"] != 4 {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{"", "ID: x\n", "ID: 1\n\tfield:int a;\tsize:4;\n"} {
		if f, err := readFormat(text); err == nil {
			t.Errorf("%q is %+v", text, f)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p := newPerf(Options{})
	p.begin = format{id: 408, offset: map[string]int{"lock_addr": 8, "flags": 16}}
	p.end = format{id: 407, offset: map[string]int{"lock_addr": 8}}
	f.Add([]byte("\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x18\x00\x00\x00\x98\x01\x00\x00\x00\x00\x00\x00\xab\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, ok := p.decode(b); ok && e.end && e.flags != 0 {
			t.Fatalf("%+v", e)
		}
	})
}

// What better sources lack is named, and the next is taken.
func TestChooseNamesWhatIsMissing(t *testing.T) {
	masked := newPerf(Options{})
	masked.tracefs = []string{t.TempDir()}
	if err := masked.Probe(); err == nil || !strings.Contains(err.Error(), "tracefs") {
		t.Errorf("without tracefs: %v", err)
	}
	old := filepath.Join(t.TempDir(), "tracing")
	if err := os.MkdirAll(filepath.Join(old, "events/sched"), 0o755); err != nil {
		t.Fatal(err)
	}
	masked.tracefs = []string{old}
	if err := masked.Probe(); err == nil || !strings.Contains(err.Error(), "5.19") {
		t.Errorf("without the tracepoints: %v", err)
	}
	absent := newLockstat()
	absent.root = t.TempDir()
	if err := absent.Probe(); err == nil || !strings.Contains(err.Error(), "CONFIG_LOCK_STAT") {
		t.Errorf("without lock_stat: %v", err)
	}
	if _, _, err := Choose(Options{Source: "nonsense"}); err == nil || !strings.Contains(err.Error(), "ebpf") {
		t.Errorf("an unknown source: %v", err)
	}
}

const wantSource = "UDSBENCH_LOCKWAIT_WANT"

// With less privilege there is still a source, and each better one says what it
// would need.
func TestNextBest(t *testing.T) {
	if want := os.Getenv(wantSource); want != "" {
		s, refused, err := Choose(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Name() != want {
			t.Errorf("source %s, want %s: %v", s.Name(), want, refused)
		}
		for name, missing := range map[string]string{"ebpf": "CAP_BPF", "perf": "needs root"} {
			if name == want {
				break
			}
			if why, ok := refused[name]; ok && !strings.Contains(why, missing) {
				t.Errorf("%s is refused with %q, which does not name %q", name, why, missing)
			}
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become nobody")
	}
	if err := newEBPF(Options{}).Probe(); err != nil {
		t.Skip(err)
	}
	exe := copyOfTest(t)
	perf := "perf"
	if newPerf(Options{}).Probe() != nil {
		perf = "sample"
	}
	for _, c := range []struct {
		caps []uintptr
		want string
	}{
		{[]uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYSLOG}, "ebpf"},
		{[]uintptr{unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH}, perf}, // eBPF refused
		{[]uintptr{unix.CAP_PERFMON}, "sample"},                       // tracefs is root's
		{nil, "sample"},
	} {
		cmd := exec.Command(exe, "-test.run", "^TestNextBest$")
		cmd.Dir = filepath.Dir(exe)
		cmd.Env = append(os.Environ(), wantSource+"="+c.want)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &credential, AmbientCaps: c.caps}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("capabilities %v: %v\n%s", c.caps, err, out)
		}
	}
}

const maskEnv = "UDSBENCH_LOCKWAIT_MASK"

// As root, on a system that hides what the better sources need: the next best is
// taken, and what is missing is named.
func TestNextBestOfRoot(t *testing.T) {
	if mask := os.Getenv(maskEnv); mask != "" {
		hide(t, mask)
		s, refused, err := Choose(Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("source %s; %v\n", s.Name(), refused)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot hide a file system")
	}
	needTrace(t, newEBPF(Options{}))
	needTrace(t, newPerf(Options{}))
	for _, c := range []struct {
		hidden string
		source string
		why    []string
	}{
		{"btf", "perf", []string{"CONFIG_DEBUG_INFO_BTF"}},
		{"bpf", "perf", []string{"refused even to root"}},
		{"btf tracefs", "sample", []string{"CONFIG_DEBUG_INFO_BTF", "tracefs is not mounted", "CONFIG_LOCK_STAT"}},
		{"btf tracepoints", "sample", []string{"CONFIG_DEBUG_INFO_BTF", "Linux 5.19 and later have"}},
	} {
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestNextBestOfRoot$")
		cmd.Env = append(os.Environ(), maskEnv+"="+c.hidden)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.hidden, err, out)
			continue
		}
		for _, want := range append(c.why, "source "+c.source+";") {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s hidden: no %q in %s", c.hidden, want, out)
			}
		}
	}
}

// hide takes away from this process, which has mounts of its own, what is named.
func hide(t *testing.T, what string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	empty := func(dir string) {
		if _, err := os.Stat(dir); err == nil {
			must(unix.Mount("none", dir, "tmpfs", 0, ""))
		}
	}
	for word := range strings.FieldsSeq(what) {
		switch word {
		case "btf":
			empty("/sys/kernel/btf")
		case "bpf": // and whatever else stands in for the capability
			for _, c := range []uintptr{unix.CAP_BPF, unix.CAP_SYS_ADMIN} {
				dropCapability(t, c)
			}
		case "tracefs", "tracepoints":
			empty("/sys/kernel/debug")
			empty("/sys/kernel/tracing")
			if word == "tracepoints" {
				must(os.MkdirAll("/sys/kernel/tracing/events/sched", 0o755))
			}
		}
	}
}

// dropCapability takes one from every thread of this process, in the effective
// and the permitted set.
func dropCapability(t *testing.T, c uintptr) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[c/32].Effective &^= 1 << (c % 32)
	data[c/32].Permitted &^= 1 << (c % 32)
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		t.Fatal(errno)
	}
}

var credential = syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}

// copyOfTest puts this test binary where anybody may run it.
func copyOfTest(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "lockwait")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "lockwait.test")
	if err := os.WriteFile(name, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}
