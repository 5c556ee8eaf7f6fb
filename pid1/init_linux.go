package pid1

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errContainer = errors.New("PID 1 of a container")

// rootPIDNamespace is the link of the machine's own PID namespace:
// PROC_PID_INIT_INO of include/linux/proc_ns.h.
const rootPIDNamespace = "pid:[4026531836]"

// initOfMachine tells the init of a machine from PID 1 of a container by the
// PID namespace, if /proc is there to say: the kernel starts init without it,
// a container's runtime mounts it first.
func initOfMachine() bool {
	if _, err := os.Stat("/proc/version"); err != nil {
		return true // prepare asks again
	}
	if _, err := os.Lstat("/proc/self"); err != nil {
		return false // a /proc of another PID namespace
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || namespace == rootPIDNamespace // without the link the kernel has no PID namespaces
}

// executable is the path that starts this binary anew.
func executable() (string, error) { return os.Readlink("/proc/self/exe") }

// prepare makes the bare machine one that commands can run on. Only what no
// command can do without is an error.
func (m *machine) prepare() error {
	if err := mount(mountPoint{"proc", "/proc", ""}); err != nil {
		return err
	}
	if !initOfMachine() {
		return errContainer
	}
	for _, point := range mounts {
		if err := mount(point); err != nil {
			m.say("%v", err)
		}
	}
	if err := openConsole(); err != nil {
		m.say("console: %v", err)
	}
	m.raiseLimits()
	if err := loopback(); err != nil {
		m.say("loopback: %v", err)
	}
	// Ctrl-Alt-Del asks init (as SIGINT) instead of resetting the machine.
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF); err != nil {
		m.say("Ctrl-Alt-Del: %v", err)
	}
	return os.MkdirAll(bootDir, 0o755)
}

// openConsole makes the console the standard files: an initramfs without
// /dev/console leaves init without any.
func openConsole() error {
	fd, err := unix.Open("/dev/console", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/dev/console", Err: err}
	}
	for std := range 3 {
		if err := unix.Dup3(fd, std, 0); err != nil && fd != std {
			return fmt.Errorf("dup3 to %d: %w", std, err)
		}
	}
	if fd > 2 {
		unix.Close(fd)
	}
	return nil
}

// raiseLimits lets a benchmark of thousands of processes and sockets run.
func (m *machine) raiseLimits() {
	for _, limit := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"open files", unix.RLIMIT_NOFILE, 1 << 20}, // fs.nr_open, which no limit may pass
		{"processes", unix.RLIMIT_NPROC, unix.RLIM_INFINITY},
		{"locked memory", unix.RLIMIT_MEMLOCK, unix.RLIM_INFINITY},
		{"real-time priority", unix.RLIMIT_RTPRIO, unix.RLIM_INFINITY},
		{"nice", unix.RLIMIT_NICE, unix.RLIM_INFINITY},
	} {
		// syscall's, not unix's: the runtime gives a child the limit of open
		// files that was in force before, unless it was set through here.
		if err := syscall.Setrlimit(limit.resource, &syscall.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			m.say("limit of %s: %v", limit.name, err)
		}
	}
}

// kernelText is the script in the kernel command line.
func kernelText() (string, error) {
	cmdline, err := os.ReadFile("/proc/cmdline")
	return cmdlineScript(string(cmdline)), err
}

// kernelLog is the kernel's log (syslog(2), SYSLOG_ACTION_READ_ALL).
func kernelLog() ([]byte, error) {
	size, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	if err != nil {
		return nil, err
	}
	log := make([]byte, size)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, log)
	if err != nil {
		return nil, err
	}
	return log[:n], nil
}

// hushConsole keeps all but the gravest kernel messages off the console.
func hushConsole() { unix.Klogctl(unix.SYSLOG_ACTION_CONSOLE_OFF, nil) }

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// setSpeed sets 115200 baud, which is coded in the flags here.
func setSpeed(t *unix.Termios) { t.Cflag = t.Cflag&^unix.CBAUD | unix.B115200 }

// drain waits until a serial line has sent everything (tcdrain).
func drain(fd int) error { return unix.IoctlSetInt(fd, unix.TCSBRK, 1) }

// powerOff returns only if the machine cannot be switched off by software.
func powerOff() {
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
