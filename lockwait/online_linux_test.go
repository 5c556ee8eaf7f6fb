package lockwait

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"udsbench/affinity"
)

const onlineEnv = "UDSBENCH_LOCKWAIT_ONLINE"

// Shares are of the machine's CPUs, however few this program may run on.
func TestOnlineIsNotTheMask(t *testing.T) {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(b) {
		if bytes.HasPrefix(line, []byte("processor")) {
			n++
		}
	}
	if n != onlineCount() {
		t.Errorf("%d CPUs are online, %d are in /proc/cpuinfo", onlineCount(), n)
	}
	if os.Getenv(onlineEnv) != "" || n < 2 {
		return
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("taskset is not installed")
	}
	mask, err := affinity.Mask()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(taskset, "-c", strconv.Itoa(mask[0]), exe, "-test.run", "^TestOnlineIsNotTheMask$")
	cmd.Env = append(os.Environ(), onlineEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("on one CPU: %v\n%s", err, out)
	}
}
