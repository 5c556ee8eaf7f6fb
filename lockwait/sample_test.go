package lockwait

import (
	"errors"
	"os"
	"testing"
	"time"

	"udsbench/record"
	"udsbench/sched"
)

func TestSightsOfRecordedThreads(t *testing.T) {
	b, err := os.ReadFile("../sched/testdata/kinfo_proc.threads.ule.bin")
	if err != nil {
		t.Fatal(err)
	}
	threads, err := sched.ParseKinfo(b)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, k := range threads {
		if s := sightOfKinfo(k); s != nil {
			n[s.site+" "+s.class]++
		} else {
			n["running"]++
		}
	}
	for what, want := range map[string]int{"sbwait socket": 2, "piperd vfs": 1, "nanslp other": 2, "uwait user": 5, "kqread descriptors": 1, "running": 2} {
		if n[what] != want {
			t.Errorf("%s: %d, want %d (%v)", what, n[what], want, n)
		}
	}
	s := sightOfKinfo(sched.Kinfo{LockBlocked: true, LockName: "unp_link", State: sched.StateLock})
	if s == nil || s.site != "*unp_link" || s.class != record.ClassSocket {
		t.Errorf("%+v", s)
	}
	// The readers of one socket sleep for its so_rcv_sx (sleepq_add in sys/kern/kern_sx.c).
	for message, class := range map[string]string{"so_rcv_s": record.ClassSocket, "ufs": record.ClassVFS, "nanslp": record.ClassOther} {
		s := sightOfKinfo(sched.Kinfo{WaitMessage: message, State: sched.StateSleep})
		if s == nil || s.site != message || s.class != class {
			t.Errorf("%s: %+v, want class %s", message, s, class)
		}
	}
}

// The sampler slows down where looking is dear.
func TestSamplerKeepsItsShare(t *testing.T) {
	var cpu time.Duration
	s := &sampler{name: "sample", clock: func() time.Duration { cpu += 2 * time.Millisecond; return cpu }, look: func(Target) ([]*sight, error) {
		return []*sight{nil, {"sbwait", "asleep", record.ClassSocket, record.InWorkers}}, nil
	}}
	s.Start(Target{})
	s.Open()
	time.Sleep(100 * time.Millisecond)
	rows, err := s.Stop()
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	// A round takes 2 ms of CPU time here, so that the next comes after 200 ms.
	if s.rounds != 1 || *rows[0].Samples != 1 || rows[0].SampleShare.Of != 2 || rows[0].Count != nil || rows[0].TotalNS != nil {
		t.Errorf("%d rounds, %+v", s.rounds, rows[0])
	}
}

func TestSamplerFails(t *testing.T) {
	s := &sampler{name: "sample", clock: func() time.Duration { return 0 }, look: func(Target) ([]*sight, error) { return nil, errors.New("gone") }}
	s.Open()
	time.Sleep(60 * time.Millisecond)
	if rows, err := s.Stop(); err == nil {
		t.Errorf("%v", rows)
	}
}
