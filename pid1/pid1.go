package pid1

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// Active reports whether this process is the init of a machine, and so has to
// call [Main] and nothing else. PID 1 of a container is not: there the
// command line is an ordinary one.
func Active() bool { return os.Getpid() == 1 && initOfMachine() }

// Main is init. It never returns on a machine: it powers it off. Where PID 1
// turns out to be a container's after all, it returns exit status 2.
func Main() int {
	m := &machine{}
	if err := m.guard(m.prepare); err == errContainer {
		fmt.Fprintln(os.Stderr, "udsbench: PID 1 of a container, not of a machine: run udsbench as another process (docker run --init)")
		return 2
	}
	m.report.Kernel = kernelName()
	// scripts/vm waits for these words.
	fmt.Fprintf(os.Stderr, "udsbench: init on %s\n", m.report.Kernel)
	m.guard(m.runScript)
	m.guard(m.deliver)
	m.say("powering off")
	powerOff()
	m.say("this machine does not power off by itself: switch it off")
	for { // PID 1 must not exit: the kernel would panic
		time.Sleep(time.Hour)
	}
}

// machine is what PID 1 knows of the machine that it is the init of.
type machine struct {
	report  Report
	results string // device for the results, empty for the console
	v1      bool   // cpuset by a version 1 hierarchy
	reaper  *reaper
}

// guard calls one stage of init and turns a panic into a note, because the
// stages after it must still run: a dead PID 1 takes the results with it.
func (m *machine) guard(stage func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("init panicked: %v", p)
			m.say("%v\n%s", err, debug.Stack())
		}
	}()
	if err = stage(); err != nil && err != errContainer {
		m.say("%v", err)
	}
	return err
}

// say tells the console, and the report.
func (m *machine) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	m.report.Notes = append(m.report.Notes, line)
	fmt.Fprintf(os.Stderr, "udsbench: %s\n", line)
}
