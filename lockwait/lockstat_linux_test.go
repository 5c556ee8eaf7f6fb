package lockwait

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A kernel with CONFIG_LOCK_STAT, played by files.
func TestLockStatSource(t *testing.T) {
	l := newLockstat()
	l.root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(l.root, "sys/kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/lockstat/lock_stat-0.4-mmap-unix.txt")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	write(l.enable(), []byte("0\n"))
	write(l.file(), recorded)
	if err := l.Probe(); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(Target{}); err != nil {
		t.Fatal(err)
	}
	if read(l.enable()) != "1" {
		t.Error("collection was not switched on")
	}
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	if read(l.file()) != "0" {
		t.Error("the statistics were not cleared as the window opened")
	}
	write(l.file(), append(recorded, []byte("idle_lock: 0 0 0.00 0.00 0.00 0.00 0 5 0.10 0.20 0.90 0.18\n")...))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	write(l.file(), []byte("changed after the window\n"))
	rows, err := l.Stop()
	if err != nil || len(rows) != 3 {
		t.Errorf("%d rows, %v: those that nobody waited for are none", len(rows), err)
	}
	if read(l.enable()) != "0" {
		t.Error("collection was not put back")
	}
	if inst := l.Instrument(); !inst.Diagnose || inst.WindowNS == nil || len(inst.Blind) == 0 {
		t.Errorf("%+v", inst)
	}
}
