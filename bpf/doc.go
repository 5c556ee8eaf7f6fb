// Package bpf holds the eBPF programs that watch the workers of an instrumented
// run, and their loader. Packages lockwait and offcpu share it.
//
//	workers ─▶ lock and sched tracepoints ─▶ programs here ─▶ lockwait, offcpu ─▶ run record
//
// kernel/trace.bpf.c is compiled ahead of time; the object is embedded, so nobody who
// builds or runs udsbench needs a compiler for it. Whoever changes the source
// needs clang-14, llvm-strip-14 and libbpf's headers, and runs go generate. A
// test checks that source and object belong together where clang-14 is there.
//
// Programs attach to BTF tracepoints (tp_btf): Linux with
// /sys/kernel/btf/vmlinux, 5.19 or later for locks and 5.18 for the scheduler,
// and root or CAP_BPF and CAP_PERFMON (CAP_SYSLOG as well, for function names).
package bpf

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target bpfel -go-package bpf -output-stem trace -type wait_key -type addr_key -type sums -type counters -type wait -type thread -type sleep_key -type latencies -type pair_key trace kernel/trace.bpf.c -- -O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu -I/usr/include/aarch64-linux-gnu
