package environ

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

func TestFingerprint(t *testing.T) {
	base := Environment{BootID: "a", Kernel: Kernel{OS: "Linux", Release: "6.1", Version: "#1", Machine: "x86_64", BuildID: "ab", Cmdline: "quiet"}}
	same := base
	same.BootID, same.Kernel.Cmdline, same.Kernel.ConfigHash = "b", "preempt=full", "c0ffee"
	if base.Fingerprint() != same.Fingerprint() {
		t.Error("boot id, command line or configuration changed the fingerprint")
	}
	for name, change := range map[string]func(*Kernel){
		"os":       func(k *Kernel) { k.OS = "FreeBSD" },
		"release":  func(k *Kernel) { k.Release = "6.2" },
		"version":  func(k *Kernel) { k.Version = "#2" },
		"machine":  func(k *Kernel) { k.Machine = "aarch64" },
		"build id": func(k *Kernel) { k.BuildID = "cd" },
		"shift":    func(k *Kernel) { k.Release, k.Version = "6.1#", "1" },
	} {
		other := base
		change(&other.Kernel)
		if base.Fingerprint() == other.Fingerprint() {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
	if f := (&Environment{Kernel: Kernel{Release: "6.1"}}).Fingerprint(); f != "" {
		t.Errorf("fingerprint %q without a version", f)
	}
}

func TestDelta(t *testing.T) {
	at := time.Unix(100, 0)
	a := HostCounters{At: at, BusyNS: Figure{Value: 10}, StealNS: Figure{Value: 7}, IrqNS: Figure{Why: "x"}, Throttled: Figure{Value: 3}, FreqKHz: Figure{Value: 1}}
	b := HostCounters{At: at.Add(time.Second), BusyNS: Figure{Value: 25}, StealNS: Figure{Value: 5}, IrqNS: Figure{Value: 9}, Throttled: Figure{Why: "y"}, FreqKHz: Figure{Value: 2}}
	want := HostDelta{Wall: time.Second, BusyNS: Figure{Value: 15}, StealNS: Figure{Why: "the kernel's counter ran backwards"},
		IrqNS: Figure{Why: "x"}, Throttled: Figure{Why: "y"}, FreqKHz: Figure{Value: 2}}
	if got := a.Delta(b); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestQuota(t *testing.T) {
	for quota, want := range map[string]float64{"150000 100000": 1.5, "50000 100000": 0.5, "max 100000": math.NaN(), "": math.NaN(), "1 0": math.NaN(), "-1 100000": math.NaN(), "1": math.NaN()} {
		got := math.NaN()
		if q := (CgroupLevel{Quota: quota}).quotaCPUs(); q != nil {
			got = *q
		}
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("quota %q is %v CPUs, want %v", quota, got, want)
		}
	}
}

func note(name, desc string, kind uint32) []byte {
	var b []byte
	for _, n := range []uint32{uint32(len(name)), uint32(len(desc)), kind} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for _, s := range []string{name, desc} {
		b = append(b, s...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	return b
}

func TestNoteBuildID(t *testing.T) {
	id := note("GNU\x00", "\x01\x02\x03\x04\x05", 3)
	other := note("Linux\x00", "6.18", 0x100)
	for _, c := range []struct {
		what string
		b    []byte
		want string
	}{
		{"alone", id, "0102030405"},
		{"after another", append(append([]byte{}, other...), id...), "0102030405"},
		{"another kind", note("GNU\x00", "\x01", 1), ""},
		{"another name", note("Xen\x00", "\x01", 3), ""},
		{"cut", id[:17], ""},
		{"huge name", []byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 3, 0, 0, 0, 0}, ""},
		{"huge description", []byte{4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 'G', 'N', 'U', 0}, ""},
		{"nothing", nil, ""},
	} {
		got, err := noteBuildID(c.b, binary.LittleEndian)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", c.what, got, err, c.want)
		}
	}
}

func FuzzNoteBuildID(f *testing.F) {
	f.Add(note("GNU\x00", "\x01\x02\x03\x04", 3))
	f.Add(append(note("Linux\x00", "6.18", 0x100), note("GNU\x00", "\x01", 3)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := noteBuildID(b, binary.LittleEndian)
		if err == nil && (id == "" || len(id) > 2*len(b)) {
			t.Errorf("build id %q from %d bytes", id, len(b))
		}
	})
}
