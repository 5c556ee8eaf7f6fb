package sched

import "udsbench/sysctl"

// LiveStats is Stats of the running kernel.
func LiveStats() (map[string]int64, error) { return Stats(sysctl.Live()) }
