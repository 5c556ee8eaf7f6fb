// Package sched tells workers how to be scheduled, and reads what FreeBSD tells
// of threads and of its scheduler.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	  │                              │
//	ParsePolicy ──── Policy ─────▶ Apply
//
// Apply is called by a worker on its own thread, which stays locked to it, and
// reads back from the kernel what it set. Which scheduler a kernel has is
// package environ's; what threads slept for is package offcpu's.
package sched
