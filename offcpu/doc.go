// Package offcpu tells of an instrumented run, at the context switches of its
// workers, where their time went (on a CPU, runnable and waiting for one,
// asleep), what they slept for, how long wake-ups took, and from which CPU to
// which threads moved and were woken.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                 │           ▲
//	                               Trace ────────┘  record.Sched, record.Instrument
//
// On Linux by the eBPF programs of package bpf. Workers do not import this
// package: thousands of them start, and need none of it. What workers are told
// is package sched's.
package offcpu
