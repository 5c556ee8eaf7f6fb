package lockwait

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
)

// dtraceScript sums the waits of one process group by probe and by name of
// lock: dtrace_lockstat(4), whose spin and block probes give the lock and the
// nanoseconds waited. It is told the group ($1), the process that opens and
// closes the window ($2) and the number that this one asks getpgid(2) for to do
// so ($3): the probes are in place long before. Every kind of lock begins with its
// struct lock_object (sys/_mutex.h, _rwlock.h, _sx.h, _lockmgr.h).
const dtraceScript = `
dtrace:::BEGIN { on = 0; printf("ready\n"); }
syscall:freebsd:getpgid:entry /pid == $2 && (int)arg0 == $3/ { on = !on; }
lockstat:::adaptive-block, lockstat:::adaptive-spin, lockstat:::spin-spin, lockstat:::thread-spin,
lockstat:::rw-block, lockstat:::rw-spin, lockstat:::sx-block, lockstat:::sx-spin, lockstat:::lockmgr-block
/on && curthread->td_proc->p_pgrp->pg_id == $1/
{
	this->lock = stringof(((struct lock_object *)arg0)->lo_name);
	@n[probename, this->lock] = count(); @t[probename, this->lock] = sum(arg1); @m[probename, this->lock] = max(arg1);
}
dtrace:::END { printa("%s\t%s\t%@d\t%@d\t%@d\n", @n, @t, @m); printf("end\n"); }
`

// dtraceProbes are the probes of the script.
var dtraceProbes = []string{"adaptive-block", "adaptive-spin", "spin-spin", "thread-spin", "rw-block", "rw-spin", "sx-block", "sx-spin", "lockmgr-block"}

// dtraceMark is the process group that is asked for to open and close the
// window. There is none of that number.
const dtraceMark = 0x75647362

// ParseDTrace reads what the script prints: a line for each probe and lock with
// count, sum and maximum, after "ready" and before "end".
func ParseDTrace(text string) ([]Row, error) {
	var rows []Row
	ended := false
	for i, line := range strings.Split(text, "\n") {
		if line == "end" {
			ended = true
		}
		if line == "" || line == "ready" || line == "end" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 5 || !slices.Contains(dtraceProbes, f[0]) || f[1] == "" {
			return nil, fmt.Errorf("dtrace line %d: %q is not probe, lock and three numbers", i+1, line)
		}
		var n [3]int64
		for j := range n {
			v, err := strconv.ParseInt(f[2+j], 10, 64)
			if err != nil || v < 0 {
				return nil, fmt.Errorf("dtrace line %d: %q is no number", i+1, f[2+j])
			}
			n[j] = v
		}
		rows = append(rows, Row{Site: f[1], Kind: f[0], Class: classOfLock(f[1]), Where: record.InWorkers, Source: "dtrace",
			Count: &n[0], TotalNS: &n[1], MaxNS: &n[2]})
	}
	if !ended {
		return nil, fmt.Errorf("dtrace did not come to its end: its sums are not whole")
	}
	SortRows(rows)
	return rows, nil
}

// dtraceBlind is what the lockstat provider's waits do not hold.
var dtraceBlind = []string{
	"rm locks, which have no such probes, and what is spun for a lockmgr lock",
	"waits that end after the window: a wait is counted when its lock is had",
	"at how many different locks of a name it was waited",
	bouncing,
}
