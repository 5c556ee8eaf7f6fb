package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

var errClosed = errors.New("it is closed")

// closedWriter is a standard output that was closed.
type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, errClosed }

// shells are programs that open /dev/null for writing alone where they are told
// to discard output, but can start a program without any output (>&-).
var shells = []string{"sh", "ash", "bash", "busybox", "dash", "fish", "ksh", "ksh93", "mksh", "zsh"}

// outputClosed reports whether standard output was closed when the program was
// started. The Go runtime opens /dev/null in its place, for reading and writing,
// before anything of ours runs (runtime.checkfds), and what is written there is
// lost without an error. Some programs start others in just that way to discard
// their output, so that it must be a shell that started this one.
func outputClosed() bool {
	var out, null unix.Stat_t
	if unix.Fstat(1, &out) != nil || unix.Stat(os.DevNull, &null) != nil || out.Mode&unix.S_IFMT != unix.S_IFCHR || out.Rdev != null.Rdev {
		return false
	}
	flags, err := unix.FcntlInt(1, unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR || sameFile(flags) {
		return false
	}
	// Shells tell a program its own path in "_".
	return slices.Contains(shells, parentName()) || filepath.Base(os.Getenv("_")) == filepath.Base(os.Args[0])
}

// sameFile reports whether standard output is one open file with another of the
// standard streams, as of a daemon: a flag that is set in one then shows in the other.
func sameFile(flags int) bool {
	for _, fd := range []uintptr{0, 2} {
		old, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err != nil || old != flags {
			continue
		}
		if _, err := unix.FcntlInt(1, unix.F_SETFL, flags^unix.O_APPEND); err != nil {
			continue
		}
		now, _ := unix.FcntlInt(fd, unix.F_GETFL, 0)
		unix.FcntlInt(1, unix.F_SETFL, flags)
		if now != old {
			return true
		}
	}
	return false
}

// baseName is a program's name as the system gives it, without what a login shell
// has before it.
func baseName(text []byte) string {
	return strings.TrimPrefix(filepath.Base(strings.TrimSpace(string(text))), "-")
}
