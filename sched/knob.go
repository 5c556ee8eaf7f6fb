package sched

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// KnobPrefix begins the name of a cell's parameter that is a knob of the
// kernel's scheduler and not of the workload: sched/NAME.
const KnobPrefix = "sched/"

// A Knob is a setting of the kernel's scheduler that can be switched while it
// runs, for the whole machine.
//
// On Linux NAME is the file kernel.sched_NAME of sysctl or NAME of
// /sys/kernel/debug/sched, preempt (the preemption model) and features among
// them; a feature's value is its name, or NO_ and its name. On FreeBSD it is
// the variable kern.sched.NAME.
type Knob struct {
	Name string // without the prefix
	at   string // path or variable
}

// FindKnob looks for the knob that a parameter named sched/NAME means. The
// error says why it cannot be switched here, and what would grant it.
func FindKnob(param string) (Knob, error) {
	name := strings.TrimPrefix(param, KnobPrefix)
	for _, part := range strings.Split(name, "/") {
		if part == "" || strings.Trim(part, ".") == "" {
			return Knob{}, fmt.Errorf("%s: %q is no name of a knob", param, name)
		}
	}
	at, err := findKnob(name)
	if err != nil {
		return Knob{}, fmt.Errorf("%s: %w", param, err)
	}
	return Knob{name, at}, nil
}

// Where names the knob as the kernel does: a path, or a variable.
func (k Knob) Where() string { return k.at }

// write gives the knob a value and verifies it by reading back.
func (k Knob) write(value string) error {
	if err := writeKnob(k.at, value); err != nil {
		return fmt.Errorf("%s%s=%s: the kernel refuses it: %w", KnobPrefix, k.Name, value, err)
	}
	text, err := readKnob(k.at)
	if err != nil {
		return err
	}
	if !k.has(text, value) {
		return fmt.Errorf("%s%s=%s did not take: %s reads %q", KnobPrefix, k.Name, value, k.at, text)
	}
	return nil
}

// has tells whether the knob that reads as text has the value.
func (k Knob) has(text, value string) bool {
	if k.lists() {
		return contains(text, value)
	}
	if one := between(text, "(", ")"); one != "" {
		return one == value // as in "none (voluntary) full"
	}
	return strings.Join(strings.Fields(text), " ") == strings.Join(strings.Fields(value), " ")
}

// opposite is what has to be written to undo value, where the knob reads as text.
func (k Knob) opposite(text, value string) string {
	if k.lists() {
		if contains(text, value) {
			return value
		}
		if flag, off := strings.CutPrefix(value, "NO_"); off {
			return flag
		}
		return "NO_" + value
	}
	if one := between(text, "(", ")"); one != "" {
		return one
	}
	return strings.Join(strings.Fields(text), " ")
}

// lists tells whether the knob is a list of flags, of which one is set at a time.
func (k Knob) lists() bool { return k.Name == "features" }

func contains(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	in, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return in
}

// Switched are knobs that stand at other values than they had. What undoes it
// is in a file as well, for whoever cleans up if this process dies.
type Switched struct {
	file  string
	locks []*os.File
}

// Switch sets the knobs among params, each with a note in the file of how to
// undo it before it is touched. A knob that another run has switched is
// refused. Restore must be called, also after an error.
func Switch(params map[string]string, file string) (*Switched, error) {
	s := &Switched{file: file}
	for param, value := range params {
		if !strings.HasPrefix(param, KnobPrefix) {
			continue
		}
		k, err := FindKnob(param)
		if err != nil {
			return s, err
		}
		if err := s.lock(k); err != nil {
			return s, err
		}
		text, err := readKnob(k.at)
		if err != nil {
			return s, err
		}
		if err := note(file, k, k.opposite(text, value)); err != nil {
			return s, err
		}
		if err := k.write(value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// lock keeps a knob for this run, until the process ends at the latest.
func (s *Switched) lock(k Knob) error {
	file := lockOf(k.at)
	f, err := os.OpenFile(file, os.O_RDONLY|lockFlags, 0o600)
	if err != nil {
		return fmt.Errorf("%s%s: %w", KnobPrefix, k.Name, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return fmt.Errorf("%s%s: another run has switched it: wait until that has ended", KnobPrefix, k.Name)
	}
	s.locks = append(s.locks, f)
	return nil
}

// Restore undoes what Switch did.
func (s *Switched) Restore() error {
	err := RestoreKnobs(s.file)
	for _, f := range s.locks {
		f.Close()
	}
	s.locks = nil
	return err
}

// note appends to the file how to undo a switch: knob, tab, value.
func note(file string, k Knob, before string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note of what to restore: %w", err)
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s\t%s\n", k.Name, before)
	return err
}

// RestoreKnobs undoes the switches that are noted in the file, the last one
// first, and removes it. A file that is not there is nothing to undo.
func RestoreKnobs(file string) error {
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	defer f.Close()
	var names, values []string
	for in := bufio.NewScanner(f); in.Scan(); {
		if name, value, ok := strings.Cut(in.Text(), "\t"); ok {
			names, values = append(names, name), append(values, value)
		}
	}
	var failed []error
	for i := len(names) - 1; i >= 0; i-- {
		k, err := FindKnob(KnobPrefix + names[i])
		if err == nil {
			err = k.write(values[i])
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("could not restore: %w", err))
		}
	}
	if failed != nil {
		return errors.Join(failed...)
	}
	return os.Remove(file)
}
