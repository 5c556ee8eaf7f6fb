package sched

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rtprio is struct rtprio of sys/rtprio.h.
type rtprio struct {
	kind uint16
	prio uint16
}

// From sys/rtprio.h. Priorities run from 0, the highest, to 31.
const (
	rtpLookup = 0
	rtpSet    = 1

	rtpRealtime = 2
	rtpNormal   = 3
	rtpIdle     = 4
	rtpFIFO     = rtpRealtime | 8

	rtpMax = 31
)

// Apply gives the calling thread a policy by rtprio_thread(2), system call
// 466, and its process a nice value by setpriority(2), and reads both back.
// fifo and rr have priorities 1 to 30 here, since the coordinator has the one
// above; idle is idprio 31. The thread must
// be locked to its goroutine.
func Apply(p Policy, nice int) error {
	if err := checkNice(nice); err != nil {
		return err
	}
	if p.Slice > 0 || p.Clamped {
		return fmt.Errorf("policy %s: FreeBSD has no slices or clamps of a thread's own", p)
	}
	var rt rtprio
	switch p.Class {
	case "", "other":
		rt = rtprio{kind: rtpNormal}
	case "idle":
		rt = rtprio{kind: rtpIdle, prio: rtpMax}
	case "fifo", "rr":
		if p.Priority >= rtpMax {
			return fmt.Errorf("policy %s: priorities are 1 to %d on FreeBSD (above them is the coordinator, which ends the run)", p, rtpMax-1)
		}
		rt = rtprio{kind: rtpRealtime, prio: uint16(rtpMax - p.Priority)}
		if p.Class == "fifo" {
			rt.kind = rtpFIFO
		}
	default:
		return fmt.Errorf("policy %s: FreeBSD has other, idle, fifo[:P] and rr[:P]", p)
	}
	if err := rtprioThread(rtpSet, 0, &rt); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("policy %s: needs root, or security.bsd.unprivileged_idprio or mac_priority(4)", p)
		}
		return fmt.Errorf("policy %s: %w", p, err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice); err != nil {
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			return fmt.Errorf("nice %d: needs root", nice)
		}
		return fmt.Errorf("nice %d: %w", nice, err)
	}
	have, haveNice, err := Current(0)
	if err != nil {
		return err
	}
	return differs(p, have, nice, haveNice)
}

// Current reads how the kernel schedules thread tid, 0 for the calling one; the
// nice value is that of the calling process.
func Current(tid int) (p Policy, nice int, err error) {
	var rt rtprio
	if err := rtprioThread(rtpLookup, tid, &rt); err != nil {
		return Policy{}, 0, fmt.Errorf("rtprio_thread of thread %d: %w", tid, err)
	}
	p.UtilMin, p.UtilMax = -1, -1
	switch rt.kind {
	case rtpNormal:
		p.Class = "other"
	case rtpIdle:
		p.Class = "idle"
	case rtpRealtime:
		p.Class, p.Priority = "rr", rtpMax-int(rt.prio)
	case rtpFIFO:
		p.Class, p.Priority = "fifo", rtpMax-int(rt.prio)
	default:
		p.Class = fmt.Sprintf("rtprio type %d", rt.kind)
	}
	nice, err = unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return Policy{}, 0, fmt.Errorf("getpriority: %w", err)
	}
	return p, nice, nil
}

func rtprioThread(function, tid int, rt *rtprio) error {
	_, _, errno := unix.Syscall(unix.SYS_RTPRIO_THREAD, uintptr(function), uintptr(tid), uintptr(unsafe.Pointer(rt)))
	if errno != 0 {
		return errno
	}
	return nil
}
