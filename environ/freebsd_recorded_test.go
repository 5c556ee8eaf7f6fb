package environ

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"udsbench/sysctl"
)

// recorded is a Sysctl that answers from a text: "NAME: VALUE" lines, where a
// value goes on until a line of description ("    # …") or the next name.
// Quoted values are bytes: one byte is a boolean, two a uint16, more are a
// structure unless they are printable.
type recorded struct {
	names  []string
	values map[string]string
}

func parseRecorded(text string) *recorded {
	r := &recorded{values: map[string]string{}}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		head, value, ok := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "    #") || strings.HasPrefix(line, ">>>"):
			name = ""
		case name == "" || ok && !strings.ContainsAny(head, " \t<") && strings.Contains(head, "."):
			if name = head; ok {
				r.names = append(r.names, name)
				r.values[name] = strings.TrimPrefix(value, " ")
			}
		default:
			r.values[name] += "\n" + line
		}
	}
	return r
}

func readRecorded(t testing.TB, file string) *recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return parseRecorded(string(b))
}

func (r *recorded) Raw(name string) ([]byte, error) {
	v, ok := r.values[name]
	if !ok {
		return nil, sysctl.ErrNotExist
	}
	if s, err := strconv.Unquote(v); err == nil {
		return []byte(s), nil
	}
	return append([]byte(v), 0), nil
}

func (r *recorded) Get(name string) (string, error) {
	raw, err := r.Raw(name)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(r.values[name], `"`) {
		return strings.TrimRight(string(raw), "\n\x00"), nil
	}
	switch {
	case len(raw) == 1:
		return strconv.Itoa(int(raw[0])), nil
	case len(raw) == 2:
		return strconv.Itoa(int(raw[0]) + int(raw[1])<<8), nil
	case bytes.ContainsFunc(raw, func(c rune) bool { return c < ' ' || c > '~' }):
		return "", errors.New("a structure")
	}
	return string(raw), nil
}

func (r *recorded) Names(node string) ([]string, error) {
	var names []string
	for _, n := range r.names {
		if strings.HasPrefix(n, node+".") {
			names = append(names, n)
		}
	}
	return names, nil
}

func TestFreeBSDGolden(t *testing.T) {
	for _, name := range []string{"freebsd-15-ule", "freebsd-15-4bsd", "freebsd-constructed"} {
		t.Run(name, func(t *testing.T) {
			e := Gather(t.TempDir(), Option{Sysctl: readRecorded(t, name+".txt"), Kenv: map[string]string{"kern.sched.slice": "12"}})
			golden(t, name, e)
		})
	}
}

func TestFreeBSDRecorded(t *testing.T) {
	ule := Gather(t.TempDir(), Option{Sysctl: readRecorded(t, "freebsd-15-ule.txt")})
	bsd := Gather(t.TempDir(), Option{Sysctl: readRecorded(t, "freebsd-15-4bsd.txt")})
	if ule.Sched.Name != "ULE" || bsd.Sched.Name != "4BSD" {
		t.Errorf("schedulers %q and %q, want ULE and 4BSD", ule.Sched.Name, bsd.Sched.Name)
	}
	if got := ule.Sched.Knobs["kern.sched.preempt_thresh"]; got != "40" {
		t.Errorf("kern.sched.preempt_thresh is %q, want 40", got)
	}
	for name := range ule.Sched.Knobs {
		if strings.Contains(name, "topology") {
			t.Errorf("%s is among the knobs", name)
		}
	}
	for name, want := range map[string]string{"net.local.stream.recvspace": "65536", "kern.ipc.maxsockbuf": "8388608",
		"net.local.dgram.maxdgram": "8192", "net.local.stream.pcblist": "", "kern.ipc.sema": "", "kern.ipc.splice.receive_stream": "1"} {
		if got := ule.Sysctl[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if *ule.Clock.HZ != 100 || *ule.Clock.StatHZ != 127 {
		t.Errorf("hz %d, stathz %d, want 100 and 127", *ule.Clock.HZ, *ule.Clock.StatHZ)
	}
	if ule.Clock.Timecounter["kern.timecounter.nanosleep_precise"] != "1" {
		t.Errorf("a boolean reads %q", ule.Clock.Timecounter["kern.timecounter.nanosleep_precise"])
	}
	// The recordings lack kern.version: there is no fingerprint, and it is said.
	if ule.KernelPrint != "" || ule.Unavailable["kernel_fingerprint"] == "" || ule.Unavailable["boot_id"] == "" {
		t.Errorf("fingerprint %q, reasons %v", ule.KernelPrint, ule.Unavailable)
	}
}

// What is there and says nothing is absent, with that for a reason.
func TestFreeBSDEmpty(t *testing.T) {
	e := Gather(t.TempDir(), Option{Sysctl: parseRecorded("kern.ostype: FreeBSD\nkern.hostname: \nkern.ident: \n")})
	if e.Host.Name != "" || e.Unavailable["host.name"] != "kern.hostname is empty" || e.Unavailable["kernel.ident"] != "kern.ident is empty" {
		t.Errorf("host %q, reasons %v", e.Host.Name, e.Unavailable)
	}
}

func TestFreeBSDConstructed(t *testing.T) {
	s := readRecorded(t, "freebsd-constructed.txt")
	e := Gather(t.TempDir(), Option{Sysctl: s})
	if e.BootID != "01020304-0506-0708-090a-0b0c0d0e0f10" {
		t.Errorf("boot id %q", e.BootID)
	}
	if want := []string{"INVARIANTS", "LOCK_PROFILING", "WITNESS"}; !reflect.DeepEqual(e.Kernel.Debug, want) {
		t.Errorf("debug %v, want %v", e.Kernel.Debug, want)
	}
	if e.Sched.Preemption.Model != "full" || e.Kernel.Config["MAXMEMDOM"] != "8" {
		t.Errorf("preemption %+v, config %v", e.Sched.Preemption, e.Kernel.Config)
	}
	if *e.Load.Load1 != 1 || *e.Load.Load5 != 0.5 || *e.Load.Load15 != 0.25 {
		t.Errorf("load %v %v %v, want 1 0.5 0.25", *e.Load.Load1, *e.Load.Load5, *e.Load.Load15)
	}
	if e.Virtual.Hypervisor != "bhyve" || !*e.Virtual.Jail || !*e.CPU.SMT || *e.CPU.MaxKHz != 2600000 || *e.CPU.MinKHz != 1300000 {
		t.Errorf("virtual %+v, cpu %+v", e.Virtual, e.CPU)
	}
	c := hostFromSysctl(s)
	// 127 + 254 + 381 + 64 ticks of 1/127 s.
	if want := int64(826) * 1e9 / 127; c.BusyNS.Value != want || !c.BusyNS.OK() {
		t.Errorf("busy %+v, want %d", c.BusyNS, want)
	}
	if want := int64(64) * 1e9 / 127; c.IrqNS.Value != want {
		t.Errorf("irq %+v, want %d", c.IrqNS, want)
	}
	if c.StealNS.OK() || c.Throttled.OK() || c.FreqKHz.OK() {
		t.Errorf("figures that FreeBSD lacks are there: %+v", c)
	}
	// Without kern.boot_id the time of the boot stands in; without both there is none.
	delete(s.values, "kern.boot_id")
	if id, err := sysctlBootID(s); err != nil || id != "boottime-1704498816.012345" {
		t.Errorf("boot id %q, %v", id, err)
	}
	delete(s.values, "kern.boottime")
	if id, err := sysctlBootID(s); err == nil {
		t.Errorf("boot id %q without any source", id)
	}
	if c := hostFromSysctl(parseRecorded("")); c.BusyNS.OK() || c.BusyNS.Value != 0 {
		t.Errorf("busy %+v from a kernel that says nothing", c.BusyNS)
	}
}

func TestParseKenv(t *testing.T) {
	got := parseKenv([]byte("kern.hz=100\x00smbios.system.serial=X\x00hint.uart.0.at=isa\x00empty=\x00noequals\x00" +
		"kern.geom.eli.passphrase=s\x00vfs.root.mountfrom=ufs:/dev/a=b\x00\x00\x00\x00"))
	want := map[string]string{"kern.hz": "100", "empty": "", "vfs.root.mountfrom": "ufs:/dev/a=b"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// FuzzFreeBSD gives the whole reader answers of any content.
func FuzzFreeBSD(f *testing.F) {
	for _, file := range []string{"freebsd-15-ule.txt", "freebsd-constructed.txt"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		e := &Environment{Unavailable: map[string]string{}}
		s := parseRecorded(text)
		gatherFreeBSD(e, dir, s)
		hostFromSysctl(s)
		e.Warnings()
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}
