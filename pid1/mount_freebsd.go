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
// someone asks for more. Where it lacks the directory it is made writable.
func mountTmp() error {
	err := os.Mkdir("/tmp", 0o755)
	if errors.Is(err, unix.EROFS) {
		var root unix.Statfs_t
		if err := unix.Statfs("/", &root); err != nil {
			return fmt.Errorf("statfs /: %w", err)
		}
		fstype := unix.ByteSliceToString(root.Fstypename[:])
		if err := nmount(unix.MNT_UPDATE, "fstype", fstype, "fspath", "/", "noro", ""); err != nil {
			return fmt.Errorf("no directory /tmp, and / (%s) does not become writable: %w", fstype, err)
		}
		err = os.Mkdir("/tmp", 0o755)
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	if err := nmount(0, "fstype", "tmpfs", "fspath", "/tmp", "mode", "1777"); err != nil {
		return fmt.Errorf("mount tmpfs at /tmp: %w", err)
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
