package environ

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func gather(e *Environment, root string, opt Option) {
	build(e)
	if opt.Sysctl != nil {
		gatherRecorded(e, root, opt)
		return
	}
	gatherFreeBSD(e, root, live())
	if env, err := liveKenv(); err != nil {
		e.absent("kernel.tunables", "kenv(2): "+err.Error())
	} else {
		e.Kernel.Tunables = env
	}
	e.Limits = limits()
	e.Host.EUID = ptr(os.Geteuid())
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_UPTIME, &t); err != nil {
		e.absent("kernel.uptime_s", err.Error())
	} else {
		e.Kernel.UptimeS = ptr(time.Duration(t.Nano()).Seconds())
	}
}

// limits reads getrlimit(2). RLIM_INFINITY is 2^63-1 (sys/resource.h); the
// resources above 9 are not in x/sys (sys/sys/resource.h numbers them).
func limits() map[string]Limit {
	const rlimInfinity = 1<<63 - 1
	text := func(v int64) string {
		if v == rlimInfinity {
			return "unlimited"
		}
		return strconv.FormatInt(v, 10)
	}
	m := map[string]Limit{}
	for name, which := range map[string]int{
		"cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA, "stack": unix.RLIMIT_STACK, "rss": unix.RLIMIT_RSS,
		"memlock": unix.RLIMIT_MEMLOCK, "nproc": unix.RLIMIT_NPROC, "nofile": unix.RLIMIT_NOFILE,
		"sbsize": 9, "as": unix.RLIMIT_AS, "swap": 12, "kqueues": 13, "umtxp": 14, "pipebuf": 15,
	} {
		var l unix.Rlimit
		if unix.Getrlimit(which, &l) == nil {
			m[name] = Limit{text(int64(l.Cur)), text(int64(l.Max))}
		}
	}
	return m
}

// Boot names the running boot of this machine's kernel, and changes with
// every boot: kern.boot_id, or the time of the boot on kernels without it.
func Boot() (id string, err error) { return sysctlBootID(live()) }

// ReadHost reads the host's counters now. On FreeBSD it is three variables,
// some 10 system calls.
func ReadHost() HostCounters {
	return hostFromSysctl(live())
}
