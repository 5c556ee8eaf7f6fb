package lockwait

import (
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/sysctl"
)

type liveSysctl struct{ sysctl.Reader }

// live reads and sets the running kernel's variables.
func live() Sysctl { return liveSysctl{sysctl.Live()} }

// Set writes an int, by __sysctlbyname(2), system call 570 (FreeBSD 13 and
// later).
func (liveSysctl) Set(name string, value int32) error {
	n := []byte(name)
	_, _, errno := unix.Syscall6(unix.SYS___SYSCTLBYNAME,
		uintptr(unsafe.Pointer(&n[0])), uintptr(len(n)), 0, 0,
		uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value))
	if errno != 0 {
		return fmt.Errorf("%s: %w", name, errno)
	}
	return nil
}

// Once is __sysctlbyname(2) with the whole room for the value.
func (liveSysctl) Once(name string, room int) (string, error) {
	n, value, length := []byte(name), make([]byte, room), uintptr(room)
	_, _, errno := unix.Syscall6(unix.SYS___SYSCTLBYNAME,
		uintptr(unsafe.Pointer(&n[0])), uintptr(len(n)),
		uintptr(unsafe.Pointer(&value[0])), uintptr(unsafe.Pointer(&length)), 0, 0)
	switch errno {
	case 0:
		return strings.TrimRight(string(value[:length]), "\x00"), nil
	case unix.ENOMEM:
		return "", fmt.Errorf("%s: %w", name, errRoom)
	}
	return "", fmt.Errorf("%s: %w", name, errno)
}
