package lockwait

import (
	"bytes"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// FindSpinlocks tells how this kernel waits for spinlocks.
func FindSpinlocks() Spinlocks {
	rt, _ := os.ReadFile("/sys/kernel/realtime")
	info, _ := os.ReadFile("/proc/cpuinfo")
	guest := bytes.Contains(info, []byte(" hypervisor"))
	return spinlocksFrom(runtime.GOARCH, guest, bytes.HasPrefix(rt, []byte("1")), kernelLog())
}

// kernelLog reads the kernel's messages; empty where they are not for us.
func kernelLog() string {
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	if err != nil || n <= 0 {
		return ""
	}
	buf := make([]byte, n)
	n, err = unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}
