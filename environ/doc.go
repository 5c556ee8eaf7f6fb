// Package environ says what machine and kernel a measurement was made on, and
// what else the machine did meanwhile.
//
// It stands beside the path, and imports nothing of it:
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	  │                              │            ▲            ▲
//	  └── Gather, Warnings ──────────┼────────────┼── environment.json
//	                                 └── ReadHost ┘
//
// [Gather] fills an [Environment] once a session. [Environment.Fingerprint]
// with [Environment.BootID] names a boot of a kernel; --resume asks for the
// same of both. [ReadHost] is read on both sides of a window and is cheap.
//
// A figure that could not be had is absent, and its name stands in
// Environment.Unavailable (or in Figure.Why) with the reason. No figure is
// ever a zero that means "not known". Nothing here runs another program.
//
// Linux is read from /proc and /sys under a root directory, so that a
// recorded tree is an input like any other. FreeBSD is read through one small
// interface, [Sysctl], so that recorded answers are an input too; its reader
// is therefore portable and lives in freebsd.go, and only the system calls
// are in files that end in _freebsd.go.
package environ
