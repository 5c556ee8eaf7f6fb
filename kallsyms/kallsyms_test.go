package kallsyms

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

func recorded(t testing.TB) *Table {
	t.Helper()
	f, err := os.Open("testdata/linux-6.18-amd64.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The table is an extract of a recorded one: an address between two of its
// functions falls to the lower, as it does in the whole table.
func TestNames(t *testing.T) {
	table := recorded(t)
	for _, c := range []struct {
		addr   uint64
		name   string
		offset uint64
	}{
		{0xffffffff820cc4a0, "unix_stream_sendmsg", 0},
		{0xffffffff820cc744, "unix_stream_sendmsg", 0x2a4},
		{0xffffffff820cc49f, "unix_stream_read_generic", 0xffffffff820cc49f - 0xffffffff820cad40},
		{0xffffffff8220389b, "_raw_spin_lock", 0x3b},
		{0xffffffffc09a1010, "unix_diag_dump", 0x10},
	} {
		name, offset, ok := table.Name(c.addr)
		if !ok || name != c.name || offset != c.offset {
			t.Errorf("%#x is %s+%#x (%v), want %s+%#x", c.addr, name, offset, ok, c.name, c.offset)
		}
	}
	for _, addr := range []uint64{0, 0xffffffff80ffffff, 0xffffffff8220bb10, 0xffffffff837f8a10, 0xffffffffffffffff} {
		if name, _, ok := table.Name(addr); ok {
			t.Errorf("%#x is %s: no function is there", addr, name)
		}
	}
}

func TestTextRanges(t *testing.T) {
	table := recorded(t)
	for _, c := range []struct {
		addr        uint64
		lock, sched bool
	}{
		{0xffffffff82203efe, true, false}, // __pv_queued_spin_lock_slowpath
		{0xffffffff8220389b, true, false}, // _raw_spin_lock
		{0xffffffff821fa76d, false, true}, // __schedule
		{0xffffffff820cc744, false, false},
		{0xffffffff82204b88, false, false}, // the end belongs to neither
	} {
		if l, s := table.IsLock(c.addr), table.IsSched(c.addr); l != c.lock || s != c.sched {
			t.Errorf("%#x: lock %v, sched %v; want %v, %v", c.addr, l, s, c.lock, c.sched)
		}
	}
}

func TestCompilersSuffixesAreCut(t *testing.T) {
	table, err := Read(strings.NewReader("0000000000001000 t f.isra.0\n0000000000002000 t g.constprop.0.cold\n0000000000003000 t .part\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x1001: "f", 0x2001: "g", 0x3001: ".part"} {
		if name, _, _ := table.Name(addr); name != want {
			t.Errorf("%#x is %q, want %q", addr, name, want)
		}
	}
}

func TestAliasOfOneAddress(t *testing.T) {
	for _, order := range []string{
		"0000000000001000 T __ia32_sys_read\n0000000000001000 T ksys_read\n",
		"0000000000001000 T ksys_read\n0000000000001000 T __ia32_sys_read\n",
	} {
		table, err := Read(strings.NewReader(order))
		if err != nil {
			t.Fatal(err)
		}
		if name, _, _ := table.Name(0x1000); name != "ksys_read" {
			t.Errorf("%q: name %s", order, name)
		}
	}
}

func TestHidden(t *testing.T) {
	b, err := os.ReadFile("testdata/hidden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(b)); !errors.Is(err, ErrHidden) {
		t.Errorf("hidden addresses: %v", err)
	}
	if _, err := Read(strings.NewReader("")); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty table: %v", err)
	}
	if _, err := Read(strings.NewReader("not a table\n")); err == nil {
		t.Error("nonsense was read")
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"testdata/linux-6.18-amd64.txt", "testdata/hidden.txt"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), uint64(0xffffffff820cc744))
	}
	f.Fuzz(func(t *testing.T, text string, addr uint64) {
		table, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		name, offset, ok := table.Name(addr)
		if ok && (name == "" || offset > addr) {
			t.Fatalf("%#x is %q+%#x", addr, name, offset)
		}
	})
}
