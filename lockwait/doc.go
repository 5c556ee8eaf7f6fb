// Package lockwait tells where the workers of an instrumented run waited on
// locks: function, kind of lock, number of distinct locks, how often, how long.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                 │           ▲
//	                               Source ── rows, instrument
//
// A Source is one means of this kernel; Choose takes the best that is
// available and says why better ones were not:
//
//	Linux    ebpf       lock:contention_begin and _end, summed in the kernel
//	         perf       the same tracepoints through perf_event_open, summed here
//	         lock_stat  /proc/lock_stat of a kernel built to diagnose locks
//	         sample     what each thread sleeps in, looked at now and then
//	FreeBSD  lockprof   debug.lock.prof.* of a kernel with LOCK_PROFILING
//	         dtrace     the block and spin probes of the lockstat provider
//	         sample     wait message and lock name of each thread, now and then
//
// What a source cannot see on this kernel it says itself (Blind): an empty
// table is "not observed", never "no waits".
//
// The workers run while a source is on; such runs are kept apart from timed
// ones.
package lockwait
