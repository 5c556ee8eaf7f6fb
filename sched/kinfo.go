package sched

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// Kinfo is what FreeBSD tells of one thread (or of a process as a whole):
// struct kinfo_proc of sys/user.h, which has one layout on amd64 and arm64.
type Kinfo struct {
	PID         int
	TID         int
	Comm        string // command
	Name        string // of the thread
	State       byte   // SRUN and so on, sys/proc.h
	WaitMessage string // what it sleeps in (wmesg), "" where it does not
	LockName    string // the lock that it is blocked on, at most 8 characters of its name
	LockBlocked bool
	OnCPU       int // the CPU that it runs on, -1 where it does not
	LastCPU     int // -1 where it never ran
	Threads     int // of its process
	RunTime     time.Duration
	EstCPU      int // the scheduler's own account of recent use (4BSD)
	User        time.Duration
	System      time.Duration
	Voluntary   int64 // context switches
	Involuntary int64
	Nice        int
	PriClass    int // ITHD 1, REALTIME 2, TIMESHARE 3, IDLE 4, FIFO 10 (sys/priority.h)
	Priority    int // kernel priority now; lower is sooner
}

// KinfoSize is ki_structsize: a kernel that returns another has another layout.
const KinfoSize = 1088

// States of a thread, sys/proc.h.
const (
	StateRun   = 2
	StateSleep = 3
	StateWait  = 6 // for an interrupt
	StateLock  = 7 // blocked on a lock
)

const kiLockBlock = 1 // KI_LOCKBLOCK of ki_kiflag

// ParseKinfo decodes what the variable kern.proc returned.
func ParseKinfo(b []byte) ([]Kinfo, error) {
	if len(b)%KinfoSize != 0 {
		return nil, fmt.Errorf("kern.proc: %d bytes are no records of %d bytes", len(b), KinfoSize)
	}
	var out []Kinfo
	for i := 0; i < len(b); i += KinfoSize {
		r := b[i : i+KinfoSize]
		if n := int32At(r, 0); n != KinfoSize {
			return nil, fmt.Errorf("kern.proc: ki_structsize is %d, not %d: this kernel lays kinfo_proc out in another way", n, KinfoSize)
		}
		// Offsets of sys/user.h for 64-bit machines.
		k := Kinfo{
			PID: int32At(r, 72), EstCPU: int32At(r, 312), RunTime: time.Duration(int64At(r, 328)) * time.Microsecond,
			LockBlocked: int64At(r, 376)&kiLockBlock != 0, State: r[388], Nice: int(int8(r[389])),
			Name: text(r[394:411]) + text(r[502:506]), WaitMessage: text(r[411:420]), LockName: text(r[438:447]), Comm: text(r[447:467]),
			OnCPU: int32At(r, 568), LastCPU: int32At(r, 572), Threads: int32At(r, 596), TID: int32At(r, 600),
			PriClass: int(r[604]), Priority: int(r[605]),
			User: timeval(r, 608), System: timeval(r, 624), Voluntary: int64At(r, 736), Involuntary: int64At(r, 744),
		}
		if !k.LockBlocked {
			k.LockName = ""
		}
		out = append(out, k)
	}
	return out, nil
}

func int32At(r []byte, at int) int { return int(int32(binary.LittleEndian.Uint32(r[at:]))) }

func int64At(r []byte, at int) int64 { return int64(binary.LittleEndian.Uint64(r[at:])) }

func timeval(r []byte, at int) time.Duration {
	return time.Duration(int64At(r, at))*time.Second + time.Duration(int64At(r, at+8))*time.Microsecond
}

func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
