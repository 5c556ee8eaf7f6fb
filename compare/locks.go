package compare

import (
	"fmt"
	"slices"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// LockWait is what one instrumented run waited at the locks of one class.
type LockWait struct {
	Cell    record.Cell
	Class   string  // one of record's classes, or "" for all together
	WaitNS  float64 // nanoseconds waited an operation, by workers
	Unknown string  // why it could not be had; "" where WaitNS is known
}

// classesOf says in which classes of locks a scope lies.
var classesOf = map[string]string{
	"socket":      record.ClassSocket,
	"subsystem":   record.ClassSocket,
	"credentials": record.ClassSocket,
	"readiness":   record.ClassSocket,
	"scheduler":   record.ClassScheduler,
	"descriptors": record.ClassDescriptors,
	"memory":      record.ClassMemory,
	"name":        record.ClassVFS,
}

// LocksOf takes the waits out of the instrumented runs. A class of which a run
// saw nothing is not known: its source may be blind to such waits.
func LocksOf(runs []record.Run) []LockWait {
	var all []LockWait
	for i := range runs {
		r := &runs[i]
		at := slices.IndexFunc(r.Instruments, func(i record.Instrument) bool { return i.Name == "locks" })
		if r.Kind != record.Instrumented || r.Status != record.OK || at < 0 {
			continue
		}
		sums := map[string]float64{}
		for _, l := range r.Locks {
			if l.Where == record.InWorkers && l.TotalNS != nil {
				sums[l.Class] += float64(*l.TotalNS)
				sums[""] += float64(*l.TotalNS)
			}
		}
		for _, class := range []string{"", record.ClassSocket, record.ClassScheduler, record.ClassDescriptors, record.ClassMemory, record.ClassVFS} {
			w := LockWait{Cell: r.Cell, Class: class}
			switch sum, seen := sums[class]; {
			case r.Ops == nil || *r.Ops == 0:
				w.Unknown = "the instrumented run counted no operations"
			case !seen:
				w.Unknown = fmt.Sprintf("no wait was observed by %s, which is not 0", r.Instruments[at].Source)
				if b := r.Instruments[at].Blind; len(b) > 0 {
					w.Unknown += " (it cannot see: " + strings.Join(b, "; ") + ")"
				}
			default:
				w.WaitNS = sum / float64(*r.Ops)
			}
			all = append(all, w)
		}
	}
	return all
}

// waits gives what the instrumented runs of a side waited in a cell at locks of
// one class, and why there are none.
func waits(side Side, s *Sample, class string) (known []float64, why string) {
	if len(s.Series) == 0 {
		return nil, ""
	}
	key := plan.Key(s.Series[0].Cell)
	for _, l := range side.Locks {
		if l.Class != class || plan.Key(l.Cell) != key {
			continue
		}
		if l.Unknown != "" {
			why = side.Name + ": " + l.Unknown
			continue
		}
		known = append(known, l.WaitNS)
	}
	return known, why
}
