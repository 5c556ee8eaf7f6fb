package pingpong

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// counterUnusable says why the time stamp counter cannot time operations; ""
// where it can.
func counterUnusable() string {
	if runtime.GOARCH != "amd64" {
		return ""
	}
	n, err := unix.SysctlUint32("kern.timecounter.invariant_tsc")
	if err != nil || n == 0 {
		return "kern.timecounter.invariant_tsc is not 1"
	}
	return ""
}
