package sched

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	knobSysctl = "/proc/sys/kernel/sched_"
	knobDebug  = "/sys/kernel/debug/sched/"

	lockFlags = 0
)

// lockOf is the file whose lock says that a knob is switched: the knob's own.
func lockOf(path string) string { return path }

// findKnob looks under /proc/sys/kernel (Documentation/admin-guide/sysctl/
// kernel.rst), then in debugfs (kernel/sched/debug.c).
func findKnob(name string) (string, error) {
	path := knobSysctl + name
	if _, err := os.Stat(path); err != nil {
		path = knobDebug + name
		if _, err := os.Stat(path); err != nil {
			return "", noKnob(name, err)
		}
	}
	if _, err := readKnob(path); err != nil {
		return "", err
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return "", fmt.Errorf("%s cannot be written: %w; run as root, outside of containers and with a kernel that is not locked down", path, err)
	}
	return path, nil
}

func noKnob(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("there is no %s%s, and %s cannot be looked into: run as root", knobSysctl, name, knobDebug)
	}
	if _, dir := os.Stat(knobDebug); dir != nil {
		return fmt.Errorf("there is no %s%s, and no %s: mount debugfs (mount -t debugfs none /sys/kernel/debug), on a kernel with CONFIG_SCHED_DEBUG or newer than 6.14", knobSysctl, name, knobDebug)
	}
	return fmt.Errorf("this kernel has neither %s%s nor %s%s", knobSysctl, name, knobDebug, name)
}

func readKnob(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: run as root", path)
	}
	return strings.TrimSpace(string(b)), nil
}

func writeKnob(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteString(value); errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%s takes no such value", path)
	}
	return err
}
