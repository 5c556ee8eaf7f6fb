package pid1

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// resultsDir is where commands run and what comes back; bootDir holds what
// init adds to it.
const (
	resultsDir = "/tmp/results"
	bootDir    = resultsDir + "/boot"
)

// notStarted is the exit status of a command that could not be started, as a
// shell gives it.
const notStarted = 127

// command runs one udsbench command to its end, and reports false where a
// signal stopped it.
func (m *machine) command(words []string) bool {
	n := len(m.report.Commands) + 1
	outcome := Outcome{Args: words, Status: notStarted}
	start := time.Now()
	out, err := newCapture(n)
	if err == nil {
		var pid int
		if pid, err = startSelf(words, out); err == nil {
			outcome.setStatus(m.reaper.wait(pid))
			outcome.LeftBehind = m.reaper.sweep()
		}
		out.wait()
	}
	if err != nil {
		m.say("command %d: %v", n, err)
	}
	outcome.Seconds = time.Since(start).Seconds()
	m.report.Commands = append(m.report.Commands, outcome)
	m.say("command %d: %s: %v", n, strings.Join(words, " "), outcome)
	return !m.reaper.stopped
}

// startSelf starts this binary anew with words as its arguments.
func startSelf(words []string, out *capture) (pid int, err error) {
	defer out.started()
	exe, err := executable()
	if err != nil {
		return 0, err
	}
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer stdin.Close()
	files := []uintptr{stdin.Fd()}
	for _, w := range out.writers {
		files = append(files, w.Fd())
	}
	// Not os.StartProcess: its way of waiting by descriptor and the reaper's
	// waiting for anyone would take each other's children.
	pid, err = syscall.ForkExec(exe, append([]string{"udsbench"}, words...), &syscall.ProcAttr{
		Dir:   resultsDir,
		Env:   []string{"HOME=/tmp", "TMPDIR=/tmp", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb"},
		Files: files,
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", exe, err)
	}
	return pid, nil
}

// capture takes what a command prints: into files that come back exactly, and
// onto the console as it comes, so that the last words before a crash are seen.
type capture struct {
	writers []*os.File // standard output and standard error of the command
	readers sync.WaitGroup
}

// newCapture makes the pipes and files of the n-th command.
func newCapture(n int) (*capture, error) {
	c := &capture{}
	for _, stream := range []string{"stdout", "stderr"} {
		file, err := os.Create(filepath.Join(bootDir, fmt.Sprintf("%d.%s", n, stream)))
		if err != nil {
			c.started()
			return nil, err
		}
		r, w, err := os.Pipe()
		if err != nil {
			file.Close()
			c.started()
			return nil, err
		}
		c.writers = append(c.writers, w)
		c.readers.Go(func() {
			defer file.Close()
			defer r.Close()
			io.Copy(io.MultiWriter(file, os.Stderr), r)
		})
	}
	return c, nil
}

// started lets go of the command's ends of the pipes.
func (c *capture) started() {
	for _, w := range c.writers {
		w.Close()
	}
	c.writers = nil
}

// wait returns when nobody can write any more and all is on file.
func (c *capture) wait() { c.readers.Wait() }
