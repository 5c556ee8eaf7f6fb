package runner

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/janitor"
)

// family is the process group of a run: who was started, who has died and how.
// One thread waits for all of them (a Go process handle would take a thread or
// a descriptor for each).
type family struct {
	mu       sync.Mutex
	living   map[int]bool // worker processes
	early    map[int]*death
	deaths   []*death // of worker processes that did not end well
	finished chan struct{}
	changed  chan struct{}
}

type death struct {
	pid    int
	signal bool
	ok     bool
	how    string
}

// reap waits for the children of the group until there are none. The janitor,
// its leader, is the last to go.
func (f *family) reap(group int) {
	f.living, f.early = map[int]bool{}, map[int]*death{}
	f.finished, f.changed = make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer close(f.finished)
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-group, &ws, 0, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil {
				return
			}
			f.mu.Lock()
			d := &death{pid: pid, ok: ws.Exited() && ws.ExitStatus() == 0}
			switch {
			case ws.Signaled():
				d.signal, d.how = true, fmt.Sprintf("was killed by signal %d (%s)", int(ws.Signal()), unix.SignalName(ws.Signal()))
			default:
				d.how = fmt.Sprintf("ended with status %d", ws.ExitStatus())
			}
			if f.living[pid] {
				f.note(d)
			} else if pid != group {
				f.early[pid] = d // reaped before add was told of it
			}
			f.mu.Unlock()
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
	}()
}

func (f *family) note(d *death) {
	delete(f.living, d.pid)
	if !d.ok {
		f.deaths = append(f.deaths, d)
	}
}

func (f *family) add(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.living[pid] = true
	if d := f.early[pid]; d != nil {
		f.note(d)
	}
}

// lost reports whether a worker process has ended that should not have.
func (f *family) lost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.deaths) > 0
}

func (f *family) deadBySignal() *death {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.deaths {
		if d.signal {
			return d
		}
	}
	return nil
}

func (f *family) dead() *death {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.deaths) == 0 {
		return nil
	}
	return f.deaths[0]
}

// wait waits until every worker process has ended by itself.
func (f *family) wait(ctx context.Context, limit time.Duration) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		f.mu.Lock()
		n, bad := len(f.living), len(f.deaths)
		f.mu.Unlock()
		if bad > 0 {
			d := f.dead()
			return failed("worker process %d %s after its work was done", d.pid, d.how)
		}
		if n == 0 {
			return nil
		}
		select {
		case <-f.changed:
		case <-f.finished:
			return failed("%d worker processes cannot be waited for", n)
		case <-ctx.Done():
			return ErrInterrupted
		case <-timeout.C:
			return failed("watchdog: %d worker processes did not end within %v", n, limit)
		}
	}
}

// kill kills the group while it still has members that were not waited for.
func (f *family) kill(h *janitor.Home) {
	select {
	case <-f.finished:
	default:
		h.Kill()
	}
}

// waitAll waits until every process of the group, the janitor too, is reaped,
// at most for the given time; 0 is for ever. It reports whether they are.
func (f *family) waitAll(limit time.Duration) bool {
	if limit == 0 {
		<-f.finished
		return true
	}
	select {
	case <-f.finished:
		return true
	case <-time.After(limit):
		return false
	}
}
