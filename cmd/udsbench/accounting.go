package main

import (
	"udsbench/environ"
	"udsbench/record"
	"udsbench/report"
)

// accounting is how this kernel accounts for CPU time.
func accounting(env *environ.Environment) record.Accounting {
	a := record.Accounting{Mode: env.Sched.CPUAccounting, InterruptsApart: env.Sched.IRQAccounting}
	hz := env.Clock.HZ
	if env.Kernel.OS == "FreeBSD" {
		// Sampled at stathz and scaled to the measured run time (calcru, kern_resource.c).
		a.Mode, hz = "tick", env.Clock.StatHZ
	}
	if a.Mode == "" {
		a.Unknown = env.Unavailable["sched.cpu_accounting"]
	}
	if hz != nil && *hz > 0 {
		a.TickNS = 1e9 / *hz
	}
	return a
}

// splits says how far user and system time can be told apart.
func splits(a record.Accounting) report.Accounting {
	return report.Accounting{Exact: a.Mode == "gen" || a.Mode == "native", TickNS: a.TickNS}
}
