package lockwait

import (
	"testing"

	"udsbench/record"
)

// Waits that a window's edges cut: of one that began before, the part inside; of
// one that has not ended, nothing, and it is counted apart.
func TestMatcherAtTheEdges(t *testing.T) {
	m := newMatcher(func(pid, tid uint32) string {
		switch {
		case pid != 1:
			return ""
		case tid == 9:
			return record.InRuntime
		}
		return record.InWorkers
	})
	m.opened, m.closed = 100, 200
	begin := func(at uint64, tid uint32, lock uint64, flags uint32) event {
		return event{time: at, pid: 1, tid: tid, lock: lock, flags: flags}
	}
	end := func(at uint64, tid uint32, lock uint64) event {
		return event{time: at, pid: 1, tid: tid, lock: lock, end: true}
	}
	m.take([]event{
		begin(90, 2, 7, flagMutex), end(150, 2, 7), // 50 of 60 ns inside
		begin(110, 3, 7, flagMutex), end(250, 3, 7), // ends after the close
		begin(120, 4, 7, flagMutex),                 // never ends
		begin(130, 9, 8, flagMutex), end(140, 9, 8), // of the runtime
		begin(210, 5, 7, flagMutex), end(220, 5, 7), // after the window
		begin(50, 6, 7, flagMutex), end(60, 6, 7), // before it
		begin(151, 2, 7, flagSpin), end(152, 10, 7), // another's end is not this one's
		end(153, 2, 7),
		{time: 160, pid: 2, tid: 8, lock: 7, flags: flagSpin}, // of nobody
	}, ^uint64(0))
	if n := m.unfinished + m.pending(); n != 2 {
		t.Errorf("%d waits did not end, want 2", n)
	}
	if m.begins != 4 || m.orphans != 1 {
		t.Errorf("%d began in the window, %d ends without a begin", m.begins, m.orphans)
	}
	got := map[string][2]int64{}
	for _, s := range m.sums {
		got[Kind(s.flags)+" "+s.who] = [2]int64{s.count, s.total}
	}
	for k, want := range map[string][2]int64{"mutex:slept workers": {1, 50}, "mutex:slept runtime": {1, 10}, "spinlock workers": {1, 2}} {
		if got[k] != want {
			t.Errorf("%s: %v, want %v", k, got[k], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
}
