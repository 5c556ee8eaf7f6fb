package lockwait

import (
	"testing"

	"udsbench/record"
)

// The readers of a ping-pong sleep in the stream's read; it needs no privilege.
func TestWchan(t *testing.T) {
	s := newWchan()
	if err := s.Probe(); err != nil {
		t.Skip(err)
	}
	rows, _ := watch(t, s, "pingpong")
	var all, socket int64
	for _, r := range rows {
		if r.Count != nil || r.TotalNS != nil || *r.Samples <= 0 {
			t.Errorf("%+v", r)
		}
		all += *r.Samples
		if r.Class == record.ClassSocket {
			socket += *r.Samples
		}
	}
	inst := s.Instrument()
	if socket == 0 || *inst.Calls < 1 {
		t.Errorf("%d of %d samples in sockets in %d rounds: %+v", socket, all, *inst.Calls, rows)
	}
	if *inst.SelfNS*20 > *inst.WindowNS {
		t.Errorf("sampling took %d of %d ns", *inst.SelfNS, *inst.WindowNS)
	}
}

// Only the workers' own threads are looked at.
func TestWchanOfWorkers(t *testing.T) {
	var all, one int64
	for pass, n := range []*int64{&all, &one} {
		c := startLoad(t, "held")
		s := newWchan()
		var workers map[int][]int
		if pass == 1 {
			workers = map[int][]int{c.cmd.Process.Pid: {c.cmd.Process.Pid}}
		}
		watchTarget(t, s, c, workers)
		i := s.Instrument()
		if *i.Calls < 1 {
			t.Skip("no round in a window of this length: the machine is too busy")
		}
		*n = *i.Samples / *i.Calls
	}
	if one != 1 || all < 1+threads {
		t.Errorf("a round looked at %d threads where one works, and at %d where all may", one, all)
	}
}
