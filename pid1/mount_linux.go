package pid1

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountPoint is one file system of the kernel's own and where it belongs.
type mountPoint struct{ fstype, path, options string }

// mounts are made in this order, after /proc.
var mounts = []mountPoint{
	{"sysfs", "/sys", ""},
	{"devtmpfs", "/dev", ""},
	{"tmpfs", "/dev/shm", "mode=1777"},
	{"tmpfs", "/tmp", "mode=1777"},
	{"tmpfs", "/run", "mode=755"},
	{"cgroup2", "/sys/fs/cgroup", ""},
	{"debugfs", "/sys/kernel/debug", ""},
	{"tracefs", "/sys/kernel/tracing", ""},
}

// v1Cpuset is where a version 1 cpuset hierarchy has its traditional place.
const v1Cpuset = "/dev/cpuset"

// mount mounts one file system. That it is there already is no error.
func mount(p mountPoint) error {
	if err := os.MkdirAll(p.path, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", p.fstype, err)
	}
	if err := unix.Mount(p.fstype, p.path, p.fstype, 0, p.options); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount %s at %s: %w", p.fstype, p.path, err)
	}
	return nil
}

// mountV1 mounts a version 1 cpuset hierarchy beside cgroup2. A controller
// belongs to one version at a time.
func mountV1() error {
	if err := os.MkdirAll(v1Cpuset, 0o755); err != nil {
		return err
	}
	err := unix.Mount("cgroup", v1Cpuset, "cgroup", 0, "cpuset")
	switch {
	case errors.Is(err, unix.EBUSY):
		return errors.New("cgroup2 holds the cpuset controller: this line must stand before any cpuset")
	case errors.Is(err, unix.EINVAL):
		return errors.New("this kernel has no cpusets of version 1 (CONFIG_CPUSETS_V1)")
	}
	return err
}
