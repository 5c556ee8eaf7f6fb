package sched

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/sysctl"
)

const (
	knobTree  = "kern.sched."
	lockFlags = os.O_CREATE
)

// lockOf is the file whose lock says that a knob is switched: in /var/run, or
// where there is none, as on the bare machine of an init, for temporary files.
func lockOf(variable string) string {
	dir := "/var/run"
	if _, err := os.Stat(dir); err != nil {
		dir = os.TempDir()
	}
	return dir + "/udsbench." + variable
}

func findKnob(name string) (string, error) {
	variable := knobTree + strings.ReplaceAll(name, "/", ".")
	if _, err := readKnob(variable); err != nil {
		return "", err
	}
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("%s can be set by root only", variable)
	}
	return variable, nil
}

func readKnob(variable string) (string, error) {
	text, err := sysctl.Live().Get(variable)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	return text, nil
}

// writeKnob sets a variable by __sysctlbyname(2): a number of the size that
// it has, or a text.
func writeKnob(variable, value string) error {
	old, err := unix.SysctlRaw(variable)
	if err != nil {
		return err
	}
	data := append([]byte(value), 0)
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		switch len(old) {
		case 4:
			data = binary.LittleEndian.AppendUint32(nil, uint32(n))
		case 8:
			data = binary.LittleEndian.AppendUint64(nil, uint64(n))
		}
	}
	name := []byte(variable)
	_, _, e := syscall.Syscall6(unix.SYS___SYSCTLBYNAME, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), 0, 0,
		uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)))
	if e != 0 {
		return e
	}
	return nil
}
