package pid1

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	interruptGrace = 15 * time.Second // from SIGINT to SIGKILL for a command that is stopped
	orphanGrace    = 2 * time.Second  // for what a command leaves: its janitor may still sweep
	killGrace      = 10 * time.Second // for what was killed to be gone
)

// reaper waits for every child of PID 1, for its own and for the orphans that
// the kernel gave it.
type reaper struct {
	child   chan os.Signal
	stop    chan os.Signal
	stopped bool // a signal asked for the end
}

func newReaper() *reaper {
	// One pending SIGCHLD is enough: each is answered by waiting for all.
	r := &reaper{child: make(chan os.Signal, 1), stop: make(chan os.Signal, 4)}
	signal.Notify(r.child, syscall.SIGCHLD)
	signal.Notify(r.stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	return r
}

// wait reaps until pid has ended, and gives its status. A signal to stop goes
// on to pid, and to everyone as SIGKILL if that does not end it.
func (r *reaper) wait(pid int) syscall.WaitStatus {
	var deadline <-chan time.Time
	for {
		for {
			got, status, _ := reapOne()
			if got == pid {
				return status
			}
			if got <= 0 {
				break
			}
		}
		select {
		case <-r.child:
		case <-r.stop:
			r.stopped = true
			syscall.Kill(pid, syscall.SIGINT)
			deadline = time.After(interruptGrace)
		case <-deadline:
			syscall.Kill(-1, syscall.SIGKILL)
		}
	}
}

// sweep waits a moment for what a command left running, kills the rest, and
// gives the number of processes that it had to kill.
func (r *reaper) sweep() (killed int) {
	if r.reapAll(orphanGrace, nil) {
		return 0
	}
	// Everyone but PID 1 and the kernel's own: nothing else runs here.
	syscall.Kill(-1, syscall.SIGKILL)
	r.reapAll(killGrace, func(status syscall.WaitStatus) {
		if status.Signaled() && status.Signal() == syscall.SIGKILL {
			killed++
		}
	})
	return killed
}

// reapAll reaps until no child is left or the time is over.
func (r *reaper) reapAll(limit time.Duration, each func(syscall.WaitStatus)) (none bool) {
	deadline := time.After(limit)
	for {
		pid, status, err := reapOne()
		switch {
		case err != nil:
			return true
		case pid > 0:
			if each != nil {
				each(status)
			}
			continue
		}
		select {
		case <-r.child:
		case <-deadline:
			return false
		}
	}
}

// reapOne takes one child that has ended: 0 where none has, an error (ECHILD)
// where there is none at all.
func reapOne() (pid int, status syscall.WaitStatus, err error) {
	for {
		pid, err = syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return pid, status, err
		}
	}
}
