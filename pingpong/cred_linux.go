package pingpong

import (
	"os"

	"golang.org/x/sys/unix"
)

// passCredentials has the kernel deliver the sender's credentials with each
// message (unix(7), SO_PASSCRED).
func passCredentials(fd int) error {
	return os.NewSyscallError("setsockopt SO_PASSCRED", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1))
}
