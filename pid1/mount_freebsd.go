package pid1

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mountTmp mounts a tmpfs at /tmp: the root file system is read-only until
// someone asks for more. Where it lacks the directory it is made writable, and
// where there is no tmpfs (not in the kernel, and no module to load) as well:
// then /tmp is a directory of it, which the error says.
func mountTmp() error {
	err := os.Mkdir("/tmp", 0o755)
	if errors.Is(err, unix.EROFS) {
		if err := writableRoot(); err != nil {
			return fmt.Errorf("no directory /tmp, and %w", err)
		}
		err = os.Mkdir("/tmp", 0o755)
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	err = nmount(0, "fstype", "tmpfs", "fspath", "/tmp", "mode", "1777")
	if err == nil {
		return nil
	}
	err = fmt.Errorf("mount tmpfs at /tmp: %w", err)
	if werr := writableRoot(); werr != nil {
		return errors.Join(err, werr)
	}
	os.RemoveAll(resultsDir) // of the boot before
	return fmt.Errorf("%w: it is a directory of the root file system instead, and results are slower to write", errors.Join(err, os.Chmod("/tmp", 0o777|os.ModeSticky)))
}

// writableRoot makes the root file system writable, if it can be: nmount(2) with
// MNT_UPDATE, as mount -u -o rw does. What it was mounted from stands.
func writableRoot() error {
	var root unix.Statfs_t
	if err := unix.Statfs("/", &root); err != nil {
		return fmt.Errorf("statfs /: %w", err)
	}
	fstype := unix.ByteSliceToString(root.Fstypename[:])
	if err := nmount(unix.MNT_UPDATE, "fstype", fstype, "fspath", "/", "noro", ""); err != nil {
		return fmt.Errorf("/ (%s) does not become writable: %w", fstype, err)
	}
	return nil
}

// mountV1 refuses: FreeBSD has no cgroups.
func mountV1() error {
	return errors.New("FreeBSD has no cgroups: leave the line out, cpuset works without it")
}

// nmount is nmount(2) with options as name, value, name, value, …
func nmount(flags int, options ...string) error {
	iov := make([]unix.Iovec, 0, len(options))
	var pinner runtime.Pinner
	defer pinner.Unpin()
	for _, word := range options {
		text := append([]byte(word), 0)
		pinner.Pin(&text[0])
		v := unix.Iovec{Base: &text[0]}
		v.SetLen(len(text))
		iov = append(iov, v)
	}
	_, _, errno := unix.Syscall(unix.SYS_NMOUNT, uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)), uintptr(flags))
	if errno != 0 {
		return errno
	}
	return nil
}
