package sched

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

var linuxPolicies = map[string]uint32{
	"other": unix.SCHED_NORMAL, "batch": unix.SCHED_BATCH, "idle": unix.SCHED_IDLE, "fifo": unix.SCHED_FIFO, "rr": unix.SCHED_RR,
	"deadline": unix.SCHED_DEADLINE, "ext": unix.SCHED_EXT,
}

// Apply gives the calling thread a policy and a nice value by sched_setattr(2),
// and reads both back. Nice values mean something to other, batch and ext
// only. The thread must be locked to its goroutine.
func Apply(p Policy, nice int) error {
	if err := checkNice(nice); err != nil {
		return err
	}
	class := p.Class
	if class == "" {
		class = "other"
	}
	number, ok := linuxPolicies[class]
	if !ok {
		return fmt.Errorf("policy %s: Linux has %s", class, PolicyHelp)
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: number}
	switch class {
	case "fifo", "rr":
		attr.Priority = uint32(p.Priority)
	case "deadline":
		attr.Runtime, attr.Deadline, attr.Period = uint64(p.Runtime), uint64(p.Deadline), uint64(p.Period)
	default:
		attr.Nice = int32(nice)
		attr.Runtime = uint64(p.Slice)
	}
	if p.Clamped {
		if p.UtilMin >= 0 {
			attr.Flags |= unix.SCHED_FLAG_UTIL_CLAMP_MIN
			attr.Util_min = uint32(p.UtilMin)
		}
		if p.UtilMax >= 0 {
			attr.Flags |= unix.SCHED_FLAG_UTIL_CLAMP_MAX
			attr.Util_max = uint32(p.UtilMax)
		}
	}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return refused(p, nice, err)
	}
	have, haveNice, err := Current(0)
	if err != nil {
		return err
	}
	if p.RealTime() {
		haveNice = nice // the kernel keeps none for them
	}
	return differs(p, have, nice, haveNice)
}

// Current reads how the kernel schedules thread tid, 0 for the calling one.
func Current(tid int) (p Policy, nice int, err error) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		return Policy{}, 0, fmt.Errorf("sched_getattr of thread %d: %w", tid, err)
	}
	p.UtilMin, p.UtilMax = int(a.Util_min), int(a.Util_max)
	for class, n := range linuxPolicies {
		if n == a.Policy {
			p.Class = class
		}
	}
	switch p.Class {
	case "":
		p.Class = fmt.Sprintf("policy %d", a.Policy)
	case "fifo", "rr":
		p.Priority = int(a.Priority)
	case "deadline":
		p.Runtime, p.Deadline, p.Period = time.Duration(a.Runtime), time.Duration(a.Deadline), time.Duration(a.Period)
	default:
		nice = int(a.Nice)
		// The base slice, or one of the thread's own, since Linux 6.12.
		p.Slice = time.Duration(a.Runtime)
	}
	return p, nice, nil
}

// refused says what was missing.
func refused(p Policy, nice int, err error) error {
	what := fmt.Sprintf("policy %s, nice %d", p, nice)
	switch {
	case errors.Is(err, unix.EPERM) && p.RealTime():
		limit := ""
		var r unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_RTPRIO, &r) == nil {
			limit = fmt.Sprintf(" of at least %d (it is %d)", max(p.Priority, 1), r.Cur)
		}
		if p.Class == "deadline" {
			return fmt.Errorf("%s: needs CAP_SYS_NICE, and threads that may run on every CPU of their cpuset (--placement free)", what)
		}
		return fmt.Errorf("%s: needs CAP_SYS_NICE or RLIMIT_RTPRIO%s, and a cgroup that may have real-time threads", what, limit)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: needs CAP_SYS_NICE, or RLIMIT_NICE of at least %d", what, 20-nice)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s: the kernel has no room for another thread of this runtime and period", what)
	case errors.Is(err, unix.EINVAL) && p.Class == "ext":
		return fmt.Errorf("%s: this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)", what)
	case errors.Is(err, unix.EOPNOTSUPP) && p.Clamped:
		return fmt.Errorf("%s: this kernel has no utilisation clamps (CONFIG_UCLAMP_TASK)", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}
