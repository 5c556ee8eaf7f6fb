// Package pid1 lets the udsbench binary be the first process of a machine, so
// that a kernel can be tried with no userland at all: it mounts what commands
// need, runs them, writes what they left to a device and powers off.
//
// It stands around the whole path and takes part in none of it:
//
//	flags → plan → placement → workers → run record → journal → series → comparison → report
//	└──────────────── each command is a child process of PID 1 ─────────────────────────────┘
//
// # The script
//
// What to do is a script, one line a step. It comes from the kernel's own
// text where that has any, else from the file /etc/udsbench.
//
//   - Linux: each udsbench.cmd="LINE" of the kernel command line, in order.
//   - FreeBSD: each variable of the kernel environment whose name begins with
//     udsbench.cmd, in the order of the number at its end (udsbench.cmd.1, …).
//
// In the kernel's text %XX stands for the byte XX (hexadecimal), because what
// passes it on splits at blanks, FreeBSD's PVH entry at commas too, and knows
// no quotes inside quotes: udsbench.cmd=run%20--suite%20quick. FreeBSD keeps
// at most 128 bytes of a variable, its PVH entry less than 128 with the name: a
// line that ends in a backslash goes on in the next one, in the file as well.
//
// A line is split into words at blanks; '…' and "…" and a backslash quote as
// in a shell, # begins a comment at the start of a word. The first word is a
// directive of this package or else a udsbench command (udsbench itself may
// stand before it):
//
//	results DEVICE   write the results there: a serial port of its own, a disk
//	offline CPUS     take CPUs offline (Linux), as in 3 or 2-3,7
//	cpuset CPUS      confine what follows to these CPUs (a cgroup; FreeBSD: a cpuset)
//	cgroup v1        use a version 1 hierarchy (at /dev/cpuset) for cpuset (Linux)
//	run …            any udsbench command
//
// A directive that fails ends the script: what follows would run on another
// machine than was asked for. A command that fails does not.
//
// # Commands
//
// Each command is the same binary, started anew as a child in the directory
// /tmp/results, so that PID 1 stays what init must be: the reaper of orphans.
// What a command left running is killed before the next line and counted.
// SIGINT (Ctrl-Alt-Del), SIGTERM and SIGUSR2 (FreeBSD's power button) go to
// the command as SIGINT; then the script ends and its results are written.
//
// # Results
//
// Everything in /tmp/results comes back as a gzipped tar in text lines
// ([WriteFrame]) which survive a console that the kernel writes to as well.
// The directory boot in it holds report.json ([Report]), the output of the
// N-th command as N.stdout and N.stderr, and the kernel's log as dmesg.
// Package unframe (go run ./pid1/unframe) reads them back; where there is no
// Go, from an undamaged console:
//
//	awk '$1=="udsbench|" && NF==5 && $2!="begin" && !seen[$3]++ {print $4}' console.log | base64 -d | tar xz
//
// A root file system for FreeBSD needs the binary and empty directories /dev
// and /tmp; for Linux an initramfs needs the binary as /init.
package pid1
