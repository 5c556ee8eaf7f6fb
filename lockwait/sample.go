package lockwait

import (
	"fmt"
	"runtime"
	"time"

	"udsbench/record"
)

// Sampling looks at what threads wait for, now and then, where nothing better
// is to be had. A sample is one thread seen waiting; waits are not counted, and
// their length is not measured.

const (
	sampleEvery = 20 * time.Millisecond // at the most this often
	sampleShare = 100                   // and so that looking takes a hundredth of one CPU
)

// sight is what one thread was seen in.
type sight struct {
	site, kind, class, where string
}

// sampler looks at intervals. look gives every worker's thread once: nil for
// one that waits for nothing. The Go runtime's other threads, idle nearly all
// the time, are not looked at.
type sampler struct {
	name   string
	cpus   int // online; 0 unknown
	blind  []string
	look   func(Target) ([]*sight, error)
	clock  func() time.Duration // CPU time of the calling thread
	target Target
	inst   record.Instrument

	seen   map[sight]int64
	all    int64
	rounds int64
	took   time.Duration
	opened time.Time
	window time.Duration
	stop   chan struct{}
	done   chan error
}

func (s *sampler) Name() string { return s.name }

func (s *sampler) Start(t Target) error {
	s.target = t
	s.inst = record.Instrument{Name: "locks", Source: s.name, CPUs: s.cpus}
	return nil
}

func (s *sampler) Open() error {
	s.seen, s.stop, s.done = map[sight]int64{}, make(chan struct{}), make(chan error, 1)
	s.opened = time.Now()
	go s.run()
	return nil
}

func (s *sampler) run() {
	runtime.LockOSThread() // the clock is this thread's
	defer runtime.UnlockOSThread()
	var err error
	for wait := sampleEvery; ; {
		select {
		case <-s.stop:
			s.done <- err
			return
		case <-time.After(wait):
		}
		began := s.clock()
		var sights []*sight
		if sights, err = s.look(s.target); err != nil {
			<-s.stop
			s.done <- err
			return
		}
		for _, x := range sights {
			s.all++
			if x != nil {
				s.seen[*x]++
			}
		}
		s.rounds++
		cost := s.clock() - began
		s.took += cost
		wait = max(sampleEvery, sampleShare*cost)
	}
}

func (s *sampler) Close() error {
	if s.stop == nil || s.window != 0 {
		return nil
	}
	s.window = time.Since(s.opened)
	close(s.stop)
	return <-s.done
}

func (s *sampler) Stop() ([]Row, error) {
	if err := s.Close(); err != nil {
		return nil, err
	}
	if s.stop == nil {
		return nil, fmt.Errorf("lock source %s: the window was never opened", s.name)
	}
	window, self, rounds := int64(s.window), int64(s.took), s.rounds
	s.inst.WindowNS, s.inst.SelfNS, s.inst.Calls, s.inst.Samples, s.inst.Blind = &window, &self, &rounds, &s.all, s.blind
	var rows []Row
	for x, n := range s.seen {
		rows = append(rows, Row{Site: x.site, Kind: x.kind, Class: x.class, Where: x.where, Source: s.name, Samples: &n, SampleShare: &record.Ratio{N: n, Of: s.all}})
	}
	SortRows(rows)
	return rows, nil
}

func (s *sampler) Blind() []string { return s.blind }

func (s *sampler) Instrument() record.Instrument { return s.inst }
