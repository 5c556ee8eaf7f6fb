package pid1

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What only an init may do (openConsole, mountTmp, writableRoot, prepare, powerOff) is tried
// by booting; the rest runs here, some of it as root alone.

func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func TestFreeBSDNotInit(t *testing.T) {
	if Active() || !initOfMachine() {
		t.Error("this test is not init, and FreeBSD's PID 1 is a machine's")
	}
	if exe, err := executable(); err != nil || exe != os.Args[0] {
		t.Errorf("executable() = %q, %v", exe, err)
	}
}

func TestFreeBSDKernelText(t *testing.T) {
	if _, err := kernelText(); err != nil {
		t.Error(err)
	}
}

func TestFreeBSDKernelLog(t *testing.T) {
	needRoot(t)
	hushConsole()
	log, err := kernelLog()
	if err != nil || len(log) == 0 {
		t.Errorf("%d bytes, %v", len(log), err)
	}
}

func TestFreeBSDLoopback(t *testing.T) {
	needRoot(t)
	for range 2 { // the second finds all addresses there
		if err := loopback(); err != nil {
			t.Error(err)
		}
	}
	if err := loopback6(); err != nil {
		t.Error(err)
	}
}

func TestFreeBSDNmount(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	if err := nmount(0, "fstype", "tmpfs", "fspath", dir, "mode", "1777"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, 0)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || unix.ByteSliceToString(fs.Fstypename[:]) != "tmpfs" {
		t.Errorf("%s: %s, %v", dir, fs.Fstypename, err)
	}
	if err := nmount(0, "fstype", "no such thing", "fspath", dir); err == nil {
		t.Error("an unknown file system was mounted")
	}
}

func TestFreeBSDRefuses(t *testing.T) {
	if err := takeOffline([]int{1}); err == nil || !strings.Contains(err.Error(), "CPU 1") {
		t.Errorf("offline: %v", err)
	}
	if err := mountV1(); err == nil {
		t.Error("cgroups were mounted")
	}
}

func TestFreeBSDConfine(t *testing.T) {
	needRoot(t)
	if err := confine([]int{1023}, false); err == nil {
		t.Error("CPU 1023 was taken")
	}
	if err := confine([]int{0}, false); err != nil {
		t.Error(err)
	}
}

func TestFreeBSDWriteDevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeDevice(file, sampleBytes(1000)); err != nil {
		t.Fatal(err)
	}
	var term unix.Termios
	setSpeed(&term)
	if term.Ospeed != 115200 {
		t.Errorf("speed %d", term.Ospeed)
	}
}

func TestFreeBSDLimits(t *testing.T) {
	m := &machine{}
	needRoot(t)
	if m.raiseLimits(); len(m.report.Notes) > 0 {
		t.Errorf("%q", m.report.Notes)
	}
	if err := raiseSysctl("kern.ipc.soacceptqueue", 0); err != nil {
		t.Errorf("what is high enough is left alone: %v", err)
	}
}
