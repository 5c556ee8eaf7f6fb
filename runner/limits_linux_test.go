package runner

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// unprivileged calls f on a thread whose children lack what lets root exceed the
// limit of descriptors in flight (too_many_unix_fds, net/core/scm.c).
func unprivileged(t *testing.T, f func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with what it lacks
		for _, c := range []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EPERM {
				done <- err
				return
			}
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func fileLimit(n int) unix.Rlimit { return unix.Rlimit{Cur: uint64(n), Max: uint64(n)} }
