// Package topology knows how a machine's processors lie to each other, and
// where that puts the workers of a run.
//
//	flags → plan → PLACEMENT → workers → run record → journal → series → comparison → report
//	                  └ this package: Machine.Place gives every worker its CPU
//
// A Machine comes from one of several sources, all with the same result:
//
//	Live       this machine (live_linux.go, live_freebsd.go)
//	Read       a recorded tree of Linux's sysfs and procfs
//	FromFile   such a tree as tar.gz, FreeBSD's kern.sched.topology_spec, an lstopo XML file
//	FromSpec   a description in hwloc's notation: "pack:4 core:2 pu:1"
//	Model      a named machine: "opteron-4x2", "xeon-htt"
//
// What a machine does not tell is -1 here, null in JSON and "not told" for a
// person; a placement that would need it is refused with that reason.
package topology
