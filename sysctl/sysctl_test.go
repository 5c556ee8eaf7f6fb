package sysctl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func recorded(t testing.TB, name string) *Recorded {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(string(text))
}

func TestRecordedValues(t *testing.T) {
	for _, c := range []struct{ file, name, want string }{
		{"ule.txt", "kern.sched.name", "ULE"},
		{"4bsd.txt", "kern.sched.name", "4BSD"},
		{"4bsd.txt", "kern.smp.cores", "8"},
		{"4bsd.txt", "dev.cpu.7.%driver", "cpu"},
		{"4bsd.txt", "dev.cpu.7.cx_usage", "100.00% last 7542us"},
		{"4bsd.txt", "dev.cpu.%parent", ""},
		{"ule.txt", "hw.model", "QEMU TCG CPU version 2.5+"},
	} {
		if got, err := recorded(t, c.file).Get(c.name); err != nil || got != c.want {
			t.Errorf("%s: %s is %q (%v), want %q", c.file, c.name, got, err, c.want)
		}
	}
	if n, err := Int(recorded(t, "ule.txt"), "hw.ncpu"); err != nil || n != 8 {
		t.Errorf("hw.ncpu: %d (%v)", n, err)
	}
	if _, err := Int(recorded(t, "ule.txt"), "hw.model"); err == nil {
		t.Error("a name was read as a number")
	}
	spec, err := recorded(t, "ule.txt").Get("kern.sched.topology_spec")
	if err != nil || !strings.HasPrefix(spec, "<groups>") || !strings.HasSuffix(spec, "</groups>") || strings.Count(spec, "<group ") != 5 {
		t.Errorf("the topology text is cut: %v\n%s", err, spec)
	}
	if _, err := recorded(t, "4bsd.txt").Get("kern.sched.topology_spec"); !errors.Is(err, ErrNotExist) {
		t.Errorf("a variable that a 4BSD kernel lacks: %v", err)
	}
}

func TestRecordedNames(t *testing.T) {
	names, err := recorded(t, "4bsd.txt").Names("kern.smp")
	if err != nil || len(names) != 8 || names[0] != "kern.smp.topology" || names[7] != "kern.smp.maxid" {
		t.Errorf("below kern.smp: %v (%v)", names, err)
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		kind uint32
		data string
		want string
	}{
		{typeInt | 0x80000000, "\xff\xff\xff\xff", "-1"},
		{typeUint, "\xff\xff\xff\xff", "4294967295"},
		{typeLong, "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00", "1 2"},
		{typeU64, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{typeS8, "\xfe", "-2"},
		{typeU16, "\x00\x01", "256"},
		{typeString, "ULE\x00", "ULE"},
		{typeString, "<groups>\n</groups>\n\x00", "<groups>\n</groups>"},
		{typeString, "", ""},
	} {
		if got, err := decode(c.kind, []byte(c.data)); err != nil || got != c.want {
			t.Errorf("type %d of % x: %q (%v), want %q", c.kind, c.data, got, err, c.want)
		}
	}
	for _, c := range []struct {
		kind uint32
		data string
	}{{typeInt, "\x01"}, {typeInt, ""}, {typeOpaque, "xx"}, {typeNode, ""}} {
		if got, err := decode(c.kind, []byte(c.data)); err == nil {
			t.Errorf("type %d of % x: %q, want an error", c.kind, c.data, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"ule.txt", "4bsd.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text[:4000]))
	}
	f.Add("a.b: \"x\\x00\"\n    # remark\n>>> walk\nc.d:\nmore")
	f.Fuzz(func(t *testing.T, text string) {
		r := Parse(text)
		for _, name := range r.order {
			if _, err := r.Get(name); err != nil || !strings.Contains(name, ".") {
				t.Fatalf("%q: %v", name, err)
			}
		}
	})
}
