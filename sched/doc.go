// Package sched tells workers how to be scheduled, and tells where their time
// went: on a CPU, waiting for one, or asleep, and for what.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	  │                              │           ▲
//	ParsePolicy ──── Policy ─────▶ Apply       Trace
//
// Apply is called by a worker on its own thread, which stays locked to it, and
// reads back from the kernel what it set. Trace watches an instrumented run at
// its context switches (Linux, by eBPF). Kinfo reads what FreeBSD tells of a
// process's threads. Which scheduler a kernel has is package environ's.
package sched
