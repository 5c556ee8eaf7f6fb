package environ

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/sysctl"
)

type liveSysctl struct{ sysctl.Reader }

func (liveSysctl) Raw(name string) ([]byte, error) { return unix.SysctlRaw(name) }

// live asks the running kernel.
func live() Sysctl { return liveSysctl{sysctl.Live()} }

// kenvDump is KENV_DUMP of kenv(2), system call 390: the dynamic kernel
// environment, which begins as what the loader passed (sys/kenv.h).
const kenvDump = 3

func liveKenv() (map[string]string, error) {
	call := func(p unsafe.Pointer, n int) (int, unix.Errno) {
		r, _, errno := unix.Syscall6(unix.SYS_KENV, kenvDump, 0, uintptr(p), uintptr(n), 0, 0)
		return int(r), errno
	}
	need, errno := call(nil, 0)
	if errno != 0 {
		return nil, errno
	}
	if need <= 0 {
		return nil, errors.New("the kernel environment is empty")
	}
	buf := make([]byte, need+4096)
	if _, errno = call(unsafe.Pointer(&buf[0]), len(buf)); errno != 0 {
		return nil, errno
	}
	return parseKenv(buf), nil
}
