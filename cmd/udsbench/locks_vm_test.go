//go:build linux && vm

package main

import (
	"path/filepath"
	"testing"

	"udsbench/journal"
	"udsbench/record"
)

// Other kernels' verifiers take the programs, and the lock that readers of one
// socket share is found there, by both means that tracepoints give: a mutex, or
// an rt_mutex. These guests have no paravirtual spinlocks, and say so.
func TestVMLocks(t *testing.T) {
	for kernel, want := range map[string]struct {
		kinds     []string
		spinlocks string
	}{
		"debian-6.1":  {[]string{"mutex:spun", "mutex:slept"}, "test-and-set (guest without paravirtual spinlocks)"},
		"debian-6.12": {[]string{"mutex:spun", "mutex:slept"}, "test-and-set (guest without paravirtual spinlocks)"},
		"debian-rt":   {[]string{"rt_mutex"}, "sleeping (PREEMPT_RT)"},
	} {
		t.Run(kernel, func(t *testing.T) {
			const flags = "run --workload fanout-read --parallel 8 --model thread --runs 3 --window 500ms --warmup 50ms --instrument locks"
			// To attach a tracepoint patches the kernel's text while it runs, which
			// emulated CPUs on threads of their own do not always notice in time.
			out := boot(t, kernel, flags+" --out ebpf\n"+flags+"+source=perf --out perf\n", "--accel", "tcg,thread=single")
			for _, source := range []string{"ebpf", "perf"} {
				j, err := journal.Read(filepath.Join(out, source))
				if err != nil {
					t.Fatal(err)
				}
				var waits int64
				for _, r := range j.Runs {
					if r.Status != record.OK {
						t.Errorf("%s: %v", source, r.Error)
					}
					if r.Kind != record.Instrumented {
						continue
					}
					if len(r.Instruments) != 1 || r.Instruments[0].Source != source || r.Instruments[0].Spinlocks != want.spinlocks {
						t.Errorf("%s: %+v, unavailable %v", source, r.Instruments, r.Unavailable)
					}
					for _, l := range r.Locks {
						if l.Site != "unix_stream_read_generic" || l.Where != record.InWorkers {
							continue
						}
						for _, kind := range want.kinds {
							if l.Kind == kind {
								waits += *l.Count
								if *l.Addresses != 1 && kind != "rt_mutex" { // under which every lock of the socket is one
									t.Errorf("%s: %s on %d locks", source, l.Kind, *l.Addresses)
								}
							}
						}
					}
				}
				if waits < 3 {
					t.Errorf("%s: %d waits for the readers' lock", source, waits)
				}
			}
		})
	}
}
