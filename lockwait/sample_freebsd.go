package lockwait

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/sched"
)

// kinfo looks at wait message and lock name of each thread, by kern.proc.pid.
// No privilege is needed for one's own processes.
type kinfo struct{ sampler }

func newKinfo() *kinfo {
	k := &kinfo{}
	k.sampler = sampler{name: "sample", cpus: ncpu(live()), look: lookKinfo, clock: threadCPU, blind: kinfoBlind}
	return k
}

func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// Probe reads our own threads.
func (*kinfo) Probe() error {
	if _, err := sched.Threads(unix.Getpid()); err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return nil
}

func lookKinfo(t Target) ([]*sight, error) {
	var out []*sight
	for _, pid := range t.PIDs {
		threads, err := sched.Threads(pid)
		if err != nil {
			continue // ended meanwhile
		}
		out = append(out, sightsOfKinfo(t, pid, threads)...)
	}
	return out, nil
}
