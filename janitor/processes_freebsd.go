package janitor

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets in struct kinfo_proc (sys/user.h), the same on amd64 and arm64.
const (
	kiStructsize = 0
	kiPID        = 72
)

// processesOf lists the processes of the group whose arguments name the run's
// directory: its workers and its janitor. The group's number alone is not
// trusted, since it can have been given anew.
func processesOf(dir string, group int) (pids []int) {
	if group <= 0 {
		return nil
	}
	raw, err := unix.SysctlRaw("kern.proc.pgrp", group)
	if err != nil {
		return nil
	}
	for len(raw) > kiPID+4 {
		size := int(binary.LittleEndian.Uint32(raw[kiStructsize:]))
		if size < kiPID+4 || size > len(raw) {
			return pids
		}
		pid := int(binary.LittleEndian.Uint32(raw[kiPID:]))
		if args, err := unix.SysctlRaw("kern.proc.args", pid); err == nil && names(args, dir) {
			pids = append(pids, pid)
		}
		raw = raw[size:]
	}
	return pids
}
