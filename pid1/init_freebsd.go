package pid1

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var errContainer = errors.New("PID 1 of a container")

// initOfMachine is always true: a jail shares the machine's process numbers,
// so that no process in it is PID 1.
func initOfMachine() bool { return true }

// executable is the path that starts this binary anew: the kernel starts init
// by its full path (init_path in sys/kern/init_main.c), as its first argument.
func executable() (string, error) { return os.Args[0], nil }

// prepare makes the bare machine one that commands can run on. Devfs is there
// already: the kernel mounts it at /dev with the root file system.
func (m *machine) prepare() error {
	if err := openConsole(); err != nil {
		m.say("console: %v", err) // to /dev/null: but the results may reach a device
	}
	if err := mountTmp(); err != nil {
		m.say("%v", err)
	}
	m.raiseLimits()
	if err := loopback(); err != nil {
		m.say("loopback: %v", err)
	}
	return os.MkdirAll(bootDir, 0o755)
}

// openConsole makes the console the standard files: the kernel starts init
// without any, and the Go runtime has put /dev/null in their place.
func openConsole() error {
	// O_NONBLOCK for opening alone, so that a line without carrier does not
	// hold the machine up (init(8) opens it the same way).
	fd, err := unix.Open("/dev/console", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/dev/console", Err: err}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return err
	}
	for std := range 3 {
		if err := unix.Dup2(fd, std); err != nil {
			return fmt.Errorf("dup2 to %d: %w", std, err)
		}
	}
	if fd > 2 {
		unix.Close(fd)
	}
	return nil
}

// raiseLimits lets a benchmark of thousands of processes and sockets run. The
// kernel cuts each to what kern.maxfilesperproc and kern.maxprocperuid allow
// (kern_proc_setrlimit in sys/kern/kern_resource.c).
func (m *machine) raiseLimits() {
	for _, limit := range []struct {
		name     string
		resource int
	}{
		{"open files", unix.RLIMIT_NOFILE},
		{"processes", unix.RLIMIT_NPROC},
		{"locked memory", unix.RLIMIT_MEMLOCK},
	} {
		// syscall's, not unix's: the runtime gives a child the limit of open
		// files that was in force before, unless it was set through here.
		if err := syscall.Setrlimit(limit.resource, &syscall.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}); err != nil {
			m.say("limit of %s: %v", limit.name, err)
		}
	}
	for _, knob := range []struct {
		name  string
		least uint32
	}{
		{"kern.ipc.soacceptqueue", 4096},              // 128, which a TCP fan-in of 200 clients overflows
		{"kern.threads.max_threads_per_proc", 20_000}, // 1500; a thread more ends a Go program
	} {
		if err := raiseSysctl(knob.name, knob.least); err != nil {
			m.say("%s: %v", knob.name, err)
		}
	}
}

// raiseSysctl sets a variable of 32 bits that is lower than least
// (__sysctlbyname(2)).
func raiseSysctl(name string, least uint32) error {
	have, err := unix.SysctlUint32(name)
	if err != nil || have >= least {
		return err
	}
	text := []byte(name)
	_, _, errno := unix.Syscall6(unix.SYS___SYSCTLBYNAME, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0,
		uintptr(unsafe.Pointer(&least)), unsafe.Sizeof(least))
	if errno != 0 {
		return errno
	}
	return nil
}

// kenvDump is KENV_DUMP of sys/kenv.h.
const kenvDump = 3

// kernelText is the script in the kernel environment (kenv(2)). At most 512
// strings of 258 bytes are in it (KENV_SIZE, KENV_MNAMELEN, KENV_MVALLEN).
func kernelText() (string, error) {
	env := make([]byte, 512*258)
	_, _, errno := unix.Syscall6(unix.SYS_KENV, kenvDump, 0, uintptr(unsafe.Pointer(&env[0])), uintptr(len(env)), 0, 0)
	if errno != 0 {
		return "", fmt.Errorf("kenv: %w", errno)
	}
	return kenvScript(string(env)), nil
}

// kernelLog is the kernel's message buffer.
func kernelLog() ([]byte, error) {
	log, err := unix.Sysctl("kern.msgbuf")
	return []byte(log), err
}

// hushConsole does nothing: kern.consmute would silence the kernel, and on
// some consoles what we write as well.
func hushConsole() {}

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// setSpeed sets 115200 baud, which is a number here.
func setSpeed(t *unix.Termios) { t.Ispeed, t.Ospeed = unix.B115200, unix.B115200 }

// drain waits until a serial line has sent everything (tty(4), TIOCDRAIN).
func drain(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCDRAIN, 0) }

// rebootPowerOff is RB_POWEROFF of sys/reboot.h.
const rebootPowerOff = 0x4000

// powerOff returns only if the machine cannot be switched off by software.
// reboot(2) itself writes back and unmounts what is mounted, but does not wait
// for what a serial console has yet to send.
func powerOff() {
	unix.Sync()
	drain(2) // an error is no reason to stay on
	unix.Syscall(unix.SYS_REBOOT, rebootPowerOff, 0, 0)
}
