package sched

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onThread runs f on a thread that ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		f()
	}()
	<-done
}

// What takes is read back by Apply itself; the kernel's other account of it is
// the thread's priority class in kern.proc.
func TestApply(t *testing.T) {
	for _, c := range []struct {
		policy string
		class  int // of sys/priority.h
		root   bool
	}{{"other", 3, false}, {"idle", 4, true}, {"fifo:3", 10, true}, {"rr:2", 2, true}} {
		if c.root && os.Geteuid() != 0 {
			continue
		}
		p, err := ParsePolicy(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		onThread(func() {
			if err := Apply(p, 0); err != nil {
				t.Error(err)
				return
			}
			threads, err := Threads(unix.Getpid())
			if err != nil {
				t.Error(err)
				return
			}
			found := false
			for _, k := range threads {
				found = found || k.PriClass == c.class
			}
			if !found {
				t.Errorf("%s: no thread has priority class %d", c.policy, c.class)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, text := range []string{"batch", "ext", "deadline:1ms/2ms/3ms", "fifo:32", "other+slice=3ms", "other+umin=1"} {
		p, err := ParsePolicy(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(p, 0); err == nil || !strings.Contains(err.Error(), "FreeBSD") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestThreadsOfOurOwn(t *testing.T) {
	threads, err := Threads(unix.Getpid())
	if err != nil || len(threads) == 0 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, k := range threads {
		if k.PID != unix.Getpid() || k.TID <= 0 || k.Threads != len(threads) {
			t.Errorf("%+v", k)
		}
	}
}
