package lockwait

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/sysctl"
)

// Whatever this kernel has: some source is there, and it goes through a window.
func TestChooseHere(t *testing.T) {
	s, refused, err := Choose(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("source %s; refused: %v", s.Name(), refused)
	for _, step := range []func() error{func() error { return s.Start(Target{PIDs: []int{unix.Getpid()}}) }, s.Open} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := s.Stop(); err != nil {
		t.Error(err)
	}
	if i := s.Instrument(); i.WindowNS == nil || *i.WindowNS <= 0 || len(s.Blind()) == 0 {
		t.Errorf("%+v", i)
	}
}

func TestSampleHere(t *testing.T) {
	s := newKinfo()
	if err := s.Probe(); err != nil {
		t.Fatal(err)
	}
	sights, err := s.look(Target{PIDs: []int{unix.Getpid()}})
	if err != nil || len(sights) == 0 {
		t.Errorf("%d sights, %v", len(sights), err)
	}
	if a := threadCPU(); a <= 0 {
		t.Errorf("%v of CPU time", a)
	}
}

// Setting a variable to what it is needs the right, and nothing else.
func TestSetHere(t *testing.T) {
	sys := live()
	v, err := sysctl.Int(sys, "kern.sched.preempt_thresh")
	if err != nil {
		t.Skip(err)
	}
	if err := sys.Set("kern.sched.preempt_thresh", int32(v)); err != nil && unix.Geteuid() == 0 {
		t.Error(err)
	}
	if err := sys.Set("no.such.variable", 1); err == nil {
		t.Error("a variable that is not there was set")
	}
}
