package pingpong

import (
	"os"

	"golang.org/x/sys/unix"
)

const localCredsPersistent = 3 // LOCAL_CREDS_PERSISTENT of sys/un.h, FreeBSD 13

// passCredentials has the kernel deliver the sender's credentials with each
// message (unix(4)).
func passCredentials(fd int) error {
	return os.NewSyscallError("setsockopt LOCAL_CREDS_PERSISTENT", unix.SetsockoptInt(fd, unix.SOL_LOCAL, localCredsPersistent, 1))
}
