package runner

import "errors"

// IdleHold is not to be had on FreeBSD.
type IdleHold struct{ US int64 }

// HoldIdleLatency fails: FreeBSD bounds idle states by their depth, for as
// long as the variable stands.
func HoldIdleLatency(int) (*IdleHold, error) {
	return nil, errors.New("FreeBSD bounds idle states by depth and not by latency: set hw.acpi.cpu.cx_lowest=C1 (sysctl) before the session")
}

// Close does nothing.
func (*IdleHold) Close() error { return nil }

func readIdle([]int) idleUse {
	return idleUse{why: "FreeBSD counts entries into idle states by percent only (dev.cpu.N.cx_usage)"}
}
