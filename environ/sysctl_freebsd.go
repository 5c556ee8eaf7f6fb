package environ

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LiveSysctl asks the running kernel.
func LiveSysctl() Sysctl { return sysctlCall(sysctl) }

// sysctl is __sysctl(2), system call 202. It asks for the size first; a value
// that grew in between gives ENOMEM and is asked for again with more room.
func sysctl(mib []int32, in []byte) ([]byte, error) {
	call := func(old unsafe.Pointer, size *uintptr) unix.Errno {
		_, _, errno := unix.Syscall6(unix.SYS___SYSCTL,
			uintptr(unsafe.Pointer(&mib[0])), uintptr(len(mib)),
			uintptr(old), uintptr(unsafe.Pointer(size)),
			uintptr(unsafe.Pointer(unsafe.SliceData(in))), uintptr(len(in)))
		runtime.KeepAlive(in)
		return errno
	}
	// Names are resolved in one call: a number has at most 24 parts (CTL_MAXNAME).
	if len(in) > 0 {
		buf := make([]byte, 4*(unix.CTL_MAXNAME+2))
		size := uintptr(4 * unix.CTL_MAXNAME)
		if errno := call(unsafe.Pointer(&buf[0]), &size); errno != 0 {
			return nil, errno
		}
		return buf[:size], nil
	}
	for try := 0; ; try++ {
		var size uintptr
		if errno := call(nil, &size); errno != 0 {
			return nil, errno
		}
		if size == 0 {
			return nil, nil
		}
		size += size/8 + 64
		buf := make([]byte, size)
		errno := call(unsafe.Pointer(&buf[0]), &size)
		if errno == 0 {
			return buf[:size], nil
		}
		if errno != unix.ENOMEM || try == 4 {
			return nil, errno
		}
	}
}

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
