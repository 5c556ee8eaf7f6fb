package janitor

import "golang.org/x/sys/unix"

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
	for _, pid := range pidsOf(raw) {
		if args, err := unix.SysctlRaw("kern.proc.args", pid); err == nil && names(args, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}
