// Package janitor sees to it that a run leaves nothing behind, however its
// coordinator dies: no process, no socket file, no directory.
//
// Each run has a private directory and a process group. The group's leader is
// the janitor, a tiny process that blocks on a pipe whose other end only the
// coordinator holds. When that end is closed, by intent or by death, the
// janitor gives the kernel's scheduler back the knobs that the run had switched,
// removes the directory and kills the group, itself with it. Where the
// janitor was killed too, the next start sweeps: a directory whose owner file
// nobody holds a lock on has no living owner.
package janitor

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/sched"
)

// Arg is the hidden subcommand that makes a process a janitor; the directory
// follows it.
const Arg = "__janitor"

const (
	pipeFD    = 3
	stem      = "udsbench." // not that of session directories
	ownerFile = "owner"
	knobsFile = "knobs"
	// maxPath is the room of sun_path less the longest socket name, on the
	// system that has the least (FreeBSD 104, Linux 108).
	maxPath = 104 - len("/s10000") - 1
)

// Home is the private directory and the process group of one run.
type Home struct {
	Dir   string
	Group int // process group id, which is the janitor's process id
	owner *os.File
	pipe  *os.File
}

// Open makes a directory of mode 0700 under the system's directory for
// temporary files, with a janitor from the binary exe. The janitor is there
// first: a caller that dies between the two leaves no directory.
func Open(exe string) (*Home, error) {
	dir, err := newName()
	if err != nil {
		return nil, err
	}
	h := &Home{Dir: dir}
	if err := h.start(exe); err != nil {
		return nil, err
	}
	if err := h.make(); err != nil {
		h.Kill() // before its pipe is closed: what stands under that name may not be ours
		syscall.Wait4(h.Group, nil, 0, nil)
		h.pipe.Close()
		return nil, err
	}
	return h, nil
}

// newName draws the name of a directory that is not there.
func newName() (string, error) {
	b := make([]byte, 6)
	rand.Read(b) // never fails (crypto/rand)
	dir := filepath.Join(os.TempDir(), stem+hex.EncodeToString(b))
	if len(dir) > maxPath {
		return "", fmt.Errorf("private directory %s is too long for a socket's name (%d bytes, at most %d); set TMPDIR to a shorter one", dir, len(dir), maxPath)
	}
	return dir, nil
}

func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0700); err != nil {
		return fmt.Errorf("private directory: %w; set TMPDIR to a directory that can be written", err)
	}
	return nil
}

// make makes the directory and the file by whose lock its owner is known to live.
func (h *Home) make() (err error) {
	if err := makeDir(h.Dir); err != nil {
		return err
	}
	if h.owner, err = os.OpenFile(filepath.Join(h.Dir, ownerFile), os.O_CREATE|os.O_RDWR, 0600); err == nil {
		err = unix.Flock(int(h.owner.Fd()), unix.LOCK_EX)
	}
	if err == nil {
		_, err = fmt.Fprintln(h.owner, h.Group)
	}
	if err != nil {
		os.RemoveAll(h.Dir)
	}
	return err
}

func (h *Home) start(exe string) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	h.pipe = w
	h.Group, err = syscall.ForkExec(exe, []string{"udsbench", Arg, h.Dir}, &syscall.ProcAttr{
		Env:   append(Environ(), "GOMAXPROCS=1"),
		Files: []uintptr{null.Fd(), 2, 2, r.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		w.Close()
		return fmt.Errorf("janitor: %w", err)
	}
	return nil
}

// Environ is the environment for our own processes: without what would tune
// their Go runtime behind the plan's back, and without the dumps of hundreds of
// goroutines where one cannot start a thread.
func Environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK"}, name)
	})
	return append(env, "GOTRACEBACK=none")
}

// Check reports why no private directory could be made, before anything is
// measured.
func Check() error {
	dir, err := newName()
	if err == nil {
		err = makeDir(dir)
	}
	if err != nil {
		return err
	}
	return os.Remove(dir)
}

// Kill kills every process of the group, the janitor too. It may be called
// while the group still has a child that the caller has not waited for, since
// only then does the number surely mean this group.
func (h *Home) Kill() { unix.Kill(-h.Group, unix.SIGKILL) }

// Release tells the janitor to clean up and go.
func (h *Home) Release() { h.pipe.Close() }

// Close removes what may be left of the directory. Call it after Kill or
// Release and after all processes of the group are reaped.
func (h *Home) Close() error {
	h.pipe.Close()
	err := os.RemoveAll(h.Dir)
	h.owner.Close()
	return err
}

// Main is the janitor process. It does not return.
func Main(dir string) {
	// The terminal's signals are the coordinator's business; it may want to
	// finish a record before it goes.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	var b [1]byte
	for {
		if n, err := unix.Read(pipeFD, b[:]); err != unix.EINTR && (n <= 0 || err != nil) {
			break
		}
	}
	if strings.HasPrefix(filepath.Base(dir), stem) {
		restore(dir)
		os.RemoveAll(dir)
	}
	if unix.Getpgrp() == os.Getpid() {
		unix.Kill(0, unix.SIGKILL)
	}
	os.Exit(0)
}

// Sweep removes what runs without a living owner have left in the directory
// for temporary files: their processes first, then their directories. It
// touches only what belongs to the calling user and returns the directories
// that it removed.
func Sweep() (swept []string) {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), stem+"*"))
	for _, dir := range dirs {
		if sweepOne(dir) {
			swept = append(swept, dir)
		}
	}
	return swept
}

func sweepOne(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0700 {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return false
	}
	owner, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		// Between mkdir and the lock for a moment, or removed half by a janitor.
		if os.IsNotExist(err) && onlySockets(dir) && time.Since(info.ModTime()) > time.Minute {
			return os.RemoveAll(dir) == nil
		}
		return false
	}
	defer owner.Close()
	if unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	b := make([]byte, 32)
	n, _ := owner.Read(b)
	if n == 0 && time.Since(info.ModTime()) < time.Minute {
		return false // just made, its owner about to lock it
	}
	group, _ := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	for _, pid := range processesOf(dir, group) {
		unix.Kill(pid, unix.SIGKILL)
	}
	restore(dir)
	return os.RemoveAll(dir) == nil
}

// Knobs is the file in the private directory that says how to undo what the
// run has switched in the kernel; see sched.Switch.
func (h *Home) Knobs() string { return filepath.Join(h.Dir, knobsFile) }

func restore(dir string) {
	if err := sched.RestoreKnobs(filepath.Join(dir, knobsFile)); err != nil {
		fmt.Fprintf(os.Stderr, "udsbench: %v\n", err)
	}
}

func onlySockets(dir string) bool {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type()&fs.ModeSocket == 0 {
			return false
		}
	}
	return err == nil
}

// names reports whether a command line, its words ended by NUL bytes, is
// "udsbench __SUBCOMMAND DIR".
func names(cmdline []byte, dir string) bool {
	args := bytes.Split(bytes.TrimSuffix(cmdline, []byte{0}), []byte{0})
	return len(args) == 3 && bytes.HasPrefix(args[1], []byte("__")) && string(args[2]) == dir
}
