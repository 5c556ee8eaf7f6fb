package lockwait

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"udsbench/record"
)

// lockstat reads /proc/lock_stat, which counts for the whole machine. Its root
// is a variable for the tests.
type lockstat struct {
	root   string
	was    []byte // what collection was set to before
	rows   []Row
	err    error
	opened time.Time
	closed bool
	inst   record.Instrument
}

// debugged tells whether this kernel was built to debug its locks: whatever
// watches it, its times say nothing of another kernel's.
func debugged() bool {
	for _, f := range []string{"/proc/lockdep", "/proc/lock_stat"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return false
}

func newLockstat() *lockstat { return &lockstat{root: "/proc"} }

func (l *lockstat) Name() string { return "lock_stat" }

func (l *lockstat) file() string   { return l.root + "/lock_stat" }
func (l *lockstat) enable() string { return l.root + "/sys/kernel/lock_stat" }

func (l *lockstat) Probe() error {
	f, err := os.OpenFile(l.file(), os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no /proc/lock_stat: the kernel needs CONFIG_LOCK_STAT")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("/proc/lock_stat: needs root")
	case err != nil:
		return err
	}
	defer f.Close()
	if _, err := ParseLockStat(f); err != nil {
		return err
	}
	return nil
}

func (l *lockstat) Start(Target) (err error) {
	l.inst = record.Instrument{Name: "locks", Source: l.Name(), CPUs: onlineCount(), Diagnose: true}
	if l.was, err = os.ReadFile(l.enable()); err != nil {
		return err
	}
	return os.WriteFile(l.enable(), []byte("1\n"), 0o644)
}

func (l *lockstat) Open() error {
	l.opened = time.Now()
	return os.WriteFile(l.file(), []byte("0\n"), 0o600) // clears
}

func (l *lockstat) Close() error {
	if l.closed || l.opened.IsZero() {
		return l.err
	}
	l.closed = true
	window := int64(time.Since(l.opened))
	l.inst.WindowNS = &window
	b, err := os.ReadFile(l.file())
	if err == nil {
		l.rows, err = ParseLockStat(bytes.NewReader(b))
	}
	l.err = err
	return err
}

func (l *lockstat) Stop() ([]Row, error) {
	err := l.Close()
	if l.was != nil {
		if rerr := os.WriteFile(l.enable(), bytes.TrimSpace(l.was), 0o644); err == nil {
			err = rerr
		}
	}
	if err == nil && l.opened.IsZero() {
		err = fmt.Errorf("lock source %s: the window was never opened", l.Name())
	}
	l.inst.Blind = l.Blind()
	var seen []Row
	for _, r := range l.rows {
		if *r.Count > 0 {
			seen = append(seen, r)
		}
	}
	return seen, err
}

func (l *lockstat) Blind() []string {
	return []string{
		"who waited: it counts for the whole machine, by class of lock, not by lock",
		"any other kernel's times: lock debugging slows every lock, so this one is for diagnosis only",
		bouncing,
	}
}

func (l *lockstat) Instrument() record.Instrument { return l.inst }
