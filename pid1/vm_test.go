//go:build linux && vm

package pid1

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// These tests boot real kernels in QEMU by scripts/vm, which fetches what it
// needs: go test -tags vm -run TestVM ./pid1. PID1_VM_KERNEL names another
// kernel than the default, as scripts/vm --kernel does.

// boot is what one boot gave.
type boot struct {
	status         int
	stdout, stderr string
	out            string // its results
	report         *Report
}

// vm boots a machine of a shape that runs a script.
func vm(t *testing.T, shape, script string, more ...string) *boot {
	t.Helper()
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil && os.Getenv("CI") != "true" {
		if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
			t.Skip("no qemu-system-x86_64 here, and no way to install it")
		}
	}
	dir := t.TempDir()
	scriptFile := filepath.Join(dir, "script")
	if err := os.WriteFile(scriptFile, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &boot{out: filepath.Join(dir, "out")}
	args := append([]string{"--shape", shape, "--main", "./pid1/internal/testinit", "--script", scriptFile, "--out", b.out, "--timeout", "240"}, more...)
	if kernel := os.Getenv("PID1_VM_KERNEL"); kernel != "" {
		args = append(args, "--kernel", kernel)
	}
	cmd := exec.Command("../scripts/vm", args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		b.status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	b.stdout, b.stderr = stdout.String(), stderr.String()
	if b.status == 124 || b.status == 125 {
		t.Fatalf("scripts/vm %s: exit status %d\n%s", strings.Join(args, " "), b.status, b.stderr)
	}
	if b.report, err = ReadReport(b.out); err != nil {
		t.Fatalf("%v\n%s", err, b.stderr)
	}
	return b
}

// stream is what the n-th command printed.
func (b *boot) stream(t *testing.T, n int, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.out, "boot", fmt.Sprintf("%d.%s", n, name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const topologyFiles = "cat /sys/devices/system/cpu/online /sys/devices/system/cpu/cpu*/topology/package_cpus_list" +
	" /sys/devices/system/cpu/cpu*/topology/thread_siblings_list /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/distance\n"

// sysfs is the part after /sys/devices/system/ of what topologyFiles printed.
func sysfs(text string) map[string]string {
	files := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		files[strings.TrimPrefix(name, "/sys/devices/system/")] = value
	}
	return files
}

// TestVMCommands boots the Opteron shape and looks at all that init promises.
func TestVMCommands(t *testing.T) {
	b := vm(t, "opteron-4x2", topologyFiles+`
args 'two words' "it's" \# a;b
write sample 7
orphan
loopback 127.0.0.1 ::1
linger
exit 3
crash
nonsense
cat /proc/self/limits /proc/mounts
`)
	if b.status != 3 {
		t.Errorf("scripts/vm ended with %d, not with the first status that is not 0 (3)\n%s", b.status, b.stderr)
	}
	wantStatus := []int{0, 0, 0, 0, 0, 0, 3, 128 + 9, 2, 0}
	if len(b.report.Commands) != len(wantStatus) {
		t.Fatalf("%d commands ran, want %d: %v", len(b.report.Commands), len(wantStatus), b.report.Notes)
	}
	for i, o := range b.report.Commands {
		if o.Status != wantStatus[i] {
			t.Errorf("command %d %v: %v, want status %d\n%s", i+1, o.Args, o, wantStatus[i], b.stream(t, i+1, "stderr"))
		}
		if left := map[bool]int{o.Args[0] == "linger": 1}[true]; o.LeftBehind != left {
			t.Errorf("command %d %v left %d processes behind, want %d", i+1, o.Args, o.LeftBehind, left)
		}
	}
	if got := sysfs(b.stream(t, 1, "stdout")); true {
		want := map[string]string{"cpu/online": "0-7",
			"node/node0/distance": "10 16 16 22", "node/node1/distance": "16 10 22 16",
			"node/node2/distance": "16 22 10 16", "node/node3/distance": "22 16 16 10"}
		for cpu := range 8 {
			first := cpu &^ 1
			want[fmt.Sprintf("cpu/cpu%d/topology/package_cpus_list", cpu)] = fmt.Sprintf("%d-%d", first, first+1)
			want[fmt.Sprintf("cpu/cpu%d/topology/thread_siblings_list", cpu)] = fmt.Sprint(cpu)
			want[fmt.Sprintf("node/node%d/cpulist", cpu/2)] = fmt.Sprintf("%d-%d", first, first+1)
		}
		sameFiles(t, got, want)
	}
	if got, want := b.stream(t, 2, "stdout"), "two words\nit's\n#\na;b\n"; got != want {
		t.Errorf("arguments came as %q, want %q", got, want)
	}
	sample := filepath.Join(t.TempDir(), "sample")
	if out, err := exec.Command("go", "run", "./internal/testinit", "write", sample, "7").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sameTree(t, sample, filepath.Join(b.out, "sample"))
	if got := b.stream(t, 4, "stdout"); got != "reaped\n" {
		t.Errorf("orphan: %q", got)
	}
	if got, want := b.stream(t, 5, "stdout"), "echo from 127.0.0.1\necho from ::1\n"; got != want {
		t.Errorf("loopback: %q, want %q", got, want)
	}
	if !strings.Contains(b.stream(t, 9, "stderr"), "no such command") || !strings.Contains(b.stderr, "no such command") {
		t.Error("standard error did not come back")
	}
	host := b.stream(t, 10, "stdout")
	for _, want := range []string{
		`Max open files +1048576 +1048576`, `Max processes +unlimited +unlimited`,
		`proc /proc proc`, `sysfs /sys sysfs`, `devtmpfs /dev devtmpfs`, `tmpfs /tmp tmpfs`, `tmpfs /dev/shm tmpfs`,
		`cgroup2 /sys/fs/cgroup cgroup2`, `debugfs /sys/kernel/debug debugfs`, `tracefs /sys/kernel/tracing tracefs`,
	} {
		if !regexp.MustCompile("(?m)(^|: )" + want).MatchString(host) {
			t.Errorf("no %q in\n%s", want, host)
		}
	}
	if log, err := os.ReadFile(filepath.Join(b.out, "boot", "dmesg")); err != nil || !strings.Contains(string(log), "Linux version") {
		t.Errorf("the kernel's log did not come back: %v", err)
	}
	// scripts/vm has its results only from a QEMU that ended by itself.
	console, err := os.ReadFile(filepath.Join(b.out, "boot", "console.log"))
	if err != nil || !strings.Contains(string(console), "powering off") {
		t.Errorf("the console says nothing of powering off: %v\n%s", err, console)
	}
	for _, note := range b.report.Notes {
		if !strings.HasPrefix(note, "command ") {
			t.Errorf("init complained: %s", note)
		}
	}
}

func sameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %q, want %q", name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %q, which the shape has not", name, got[name])
		}
	}
}

// siblings is what the Xeon shapes look like: threads of a core are
// neighbours in number, and the machine is one node.
func siblings(packages, cores, threads int) map[string]string {
	last := packages*cores*threads - 1
	want := map[string]string{"cpu/online": fmt.Sprintf("0-%d", last),
		"node/node0/cpulist": fmt.Sprintf("0-%d", last), "node/node0/distance": "10"}
	for cpu := range last + 1 {
		p, c := cpu/(cores*threads)*cores*threads, cpu/threads*threads
		want[fmt.Sprintf("cpu/cpu%d/topology/package_cpus_list", cpu)] = fmt.Sprintf("%d-%d", p, p+cores*threads-1)
		want[fmt.Sprintf("cpu/cpu%d/topology/thread_siblings_list", cpu)] = fmt.Sprintf("%d-%d", c, c+threads-1)
	}
	return want
}

func TestVMXeon(t *testing.T) {
	b := vm(t, "xeon-htt", topologyFiles)
	sameFiles(t, sysfs(b.stdout), siblings(2, 1, 2))
}

// TestVMConsole has the results come by the console alone, from a script in
// the kernel command line, which outranks the file.
func TestVMConsole(t *testing.T) {
	b := vm(t, "xeon-htt-2c", "args from the file\n", "--append",
		`udsbench.cmd="args 'from the' console" udsbench.cmd=`+strings.ReplaceAll(strings.TrimSpace(topologyFiles), " ", "%20"))
	if got := b.stream(t, 1, "stdout"); got != "from the\nconsole\n" || len(b.report.Commands) != 2 {
		t.Errorf("%v printed %q", b.report.Commands, got)
	}
	sameFiles(t, sysfs(b.stream(t, 2, "stdout")), siblings(2, 2, 2))
	console, err := os.Open(filepath.Join(b.out, "boot", "console.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	if _, err := ReadFrame(console); err != nil {
		t.Errorf("console.log: %v", err)
	}
}

// TestVMOfflineCpuset looks at the fourth shape, and at init's answer to
// Ctrl-Alt-Del's signal.
func TestVMOfflineCpuset(t *testing.T) {
	const allowed = "cat /sys/devices/system/cpu/online /sys/devices/system/cpu/offline /proc/self/status /proc/self/cgroup\n"
	b := vm(t, "offline-cpuset", allowed+"cpuset 5-6\n"+allowed+"stop-init\nargs never\n")
	holds(t, b.stream(t, 1, "stdout"), "/sys/devices/system/cpu/online: 0-2,4-7\n", "/sys/devices/system/cpu/offline: 3\n",
		"Cpus_allowed_list:\t1-2,4-6\n", "0::/udsbench")
	holds(t, b.stream(t, 2, "stdout"), "/sys/devices/system/cpu/online: 0-2,4-7\n", "Cpus_allowed_list:\t5-6\n")
	if len(b.report.Commands) != 3 || b.report.Commands[2].Status != 128+2 || !strings.Contains(strings.Join(b.report.Notes, "\n"), "stopped by a signal") {
		t.Errorf("after SIGINT: %v, %q", b.report.Commands, b.report.Notes)
	}
}

func holds(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// TestVMCgroupV1 confines commands the old way.
func TestVMCgroupV1(t *testing.T) {
	b := vm(t, "cpu=kvm64 sockets=1 cores=2", "cgroup v1\ncpuset 1\ncat /proc/self/status /proc/self/cgroup /proc/mounts\n")
	if config, err := filepath.Glob("../.build/kernels/" + os.Getenv("PID1_VM_KERNEL") + "/config-*"); err == nil && len(config) == 1 {
		if text, err := os.ReadFile(config[0]); err == nil && strings.Contains(string(text), "# CONFIG_CPUSETS_V1 is not set") {
			holds(t, b.stderr, "no cpusets of version 1")
			return
		}
	}
	if len(b.report.Commands) != 1 {
		t.Fatalf("%q", b.report.Notes)
	}
	holds(t, b.stdout, "Cpus_allowed_list:\t1\n", ":cpuset:/udsbench\n", "cgroup /dev/cpuset cgroup")
}

// TestVMDirectiveFails holds that a machine that is not as asked for runs
// nothing.
func TestVMDirectiveFails(t *testing.T) {
	b := vm(t, "cpu=kvm64 sockets=2 offline=7", "args never\n")
	if b.status != 1 || len(b.report.Commands) != 0 || !strings.Contains(b.stderr, "offline 7: CPU 7 does not go offline") {
		t.Errorf("status %d, %v\n%s", b.status, b.report.Commands, b.stderr)
	}
}
