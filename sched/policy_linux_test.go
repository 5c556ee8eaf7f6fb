package sched

import (
	"errors"
	"fmt"
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

// kernelSays reads policy, real-time priority and nice value of the calling
// thread from its stat: proc(5), fields 41, 40 and 19.
func kernelSays(t *testing.T) (policy, priority, nice int) {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	for i, to := range map[int]*int{41: &policy, 40: &priority, 19: &nice} {
		if _, err := fmt.Sscan(f[i-3], to); err != nil {
			t.Fatal(err)
		}
	}
	return
}

func TestApply(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	for _, c := range []struct {
		policy             string
		nice               int
		number, prio, says int
	}{
		{"other", 0, unix.SCHED_NORMAL, 0, 0}, {"other", 7, unix.SCHED_NORMAL, 0, 7}, {"other", -5, unix.SCHED_NORMAL, 0, -5},
		{"batch", 3, unix.SCHED_BATCH, 0, 3}, {"idle", 0, unix.SCHED_IDLE, 0, 0},
		{"fifo:3", 0, unix.SCHED_FIFO, 3, 0}, {"rr:2", 0, unix.SCHED_RR, 2, 0},
		{"deadline:1ms/10ms/20ms", 0, unix.SCHED_DEADLINE, 0, 0},
		{"other+slice=2ms", 0, unix.SCHED_NORMAL, 0, 0},
	} {
		p, err := ParsePolicy(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		onThread(func() {
			if err := Apply(p, c.nice); err != nil {
				// Kernels before 6.12 take no slice; a cgroup or a cpuset may rule out the others.
				if p.Slice > 0 && strings.Contains(err.Error(), "did not take") || errors.Is(err, unix.EPERM) || p.Class == "deadline" {
					t.Log(err)
					return
				}
				t.Error(err)
				return
			}
			if policy, prio, nice := kernelSays(t); policy != c.number || prio != c.prio || nice != c.says {
				t.Errorf("%s, nice %d: the kernel says policy %d, priority %d, nice %d", c.policy, c.nice, policy, prio, nice)
			}
		})
	}
}

// What a kernel or a user may not have is refused with what is missing.
func TestRefusals(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become nobody")
	}
	for policy, want := range map[string]string{"fifo:5": "CAP_SYS_NICE or RLIMIT_RTPRIO", "rr": "CAP_SYS_NICE or RLIMIT_RTPRIO", "deadline:1ms/2ms/3ms": "CAP_SYS_NICE", "other": "RLIMIT_NICE"} {
		p, err := ParsePolicy(policy)
		if err != nil {
			t.Fatal(err)
		}
		onThread(func() {
			// This thread alone becomes nobody; it ends with the test.
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
				t.Fatal(errno)
			}
			nice := 0
			if policy == "other" {
				nice = -10
			}
			if err := Apply(p, nice); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s as nobody: %v, want %q", policy, err, want)
			}
		})
	}
}

func TestAbsentClasses(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/sched_ext"); err == nil {
		t.Skip("this kernel has sched_ext")
	}
	onThread(func() {
		if err := Apply(Policy{Class: "ext"}, 0); err == nil || !strings.Contains(err.Error(), "sched_ext") {
			t.Errorf("ext: %v", err)
		}
	})
	if err := Apply(Policy{Class: "interactive"}, 0); err == nil {
		t.Error("a policy that Linux has not was taken")
	}
}
