// Package counters counts what the processor and the kernel did for the
// workers of an instrumented run: cycles, instructions, cache misses; time on
// CPU, context switches, migrations, faults.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                 │           ▲
//	                               Start ────────┘  record.Counters, record.Instrument
//
// On Linux by perf_event_open(2), an event a thread, opened switched off and
// switched on as the window opens: the kernel's own part is counted with the
// thread's. FreeBSD's hwpmc(4) is reached through libpmc only, which has no
// counterpart here.
package counters
