package pid1

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain answers as PID 1 of the containers that TestActive makes.
func TestMain(m *testing.M) {
	switch os.Getenv("PID1_TEST") {
	case "fresh proc":
		if err := mount(mountPoint{"proc", "/proc", ""}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fallthrough
	case "old proc":
		fmt.Println("pid", os.Getpid(), "active", Active())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestActive holds that PID 1 of a container is not taken for init: it would
// power off.
func TestActive(t *testing.T) {
	if Active() {
		t.Error("this test is not init")
	}
	for _, proc := range []string{"fresh proc", "old proc"} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "PID1_TEST="+proc)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if err != nil {
			if os.Geteuid() != 0 {
				t.Skipf("namespaces need root: %v", err)
			}
			t.Fatalf("%s: %v: %s", proc, err, out)
		}
		if got := strings.TrimSpace(string(out)); got != "pid 1 active false" {
			t.Errorf("%s: %s", proc, got)
		}
	}
}
