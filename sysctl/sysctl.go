// Package sysctl reads FreeBSD's system variables by name, as text, from the
// running kernel or from what "sysctl -a" printed elsewhere, so that whoever
// reads a machine through it can be tried on recorded machines.
//
//	flags → plan → placement → workers → run record → journal → series → comparison → report
//	                   └ topology asks here how the machine is built
//
// A variable that a kernel lacks is an error that is ErrNotExist, never an
// empty value.
package sysctl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNotExist is the error of a name that this kernel does not know.
var ErrNotExist = errors.New("no such system variable")

// Reader answers for the variables of one kernel.
type Reader interface {
	// Get returns the value of a leaf as sysctl(8) prints it with -n.
	Get(name string) (string, error)
	// Names returns the leaves that begin with prefix and a dot, in the
	// kernel's order.
	Names(prefix string) ([]string, error)
}

// Int reads a variable that is one number.
func Int(r Reader, name string) (int64, error) {
	text, err := r.Get(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no number", name, text)
	}
	return n, nil
}

// Recorded answers from recorded values.
type Recorded struct {
	values map[string]string
	order  []string
}

// Get returns the recorded value.
func (r *Recorded) Get(name string) (string, error) {
	value, found := r.values[name]
	if !found {
		return "", fmt.Errorf("%s: %w", name, ErrNotExist)
	}
	return value, nil
}

// Names returns the recorded names below prefix in the order of the recording.
func (r *Recorded) Names(prefix string) ([]string, error) {
	var names []string
	for _, name := range r.order {
		if strings.HasPrefix(name, prefix+".") {
			names = append(names, name)
		}
	}
	return names, nil
}

// Parse reads what "sysctl -a" prints: "name: value", a value going on over
// lines until the next name. Lines that begin with ">>>" and indented lines
// that begin with "#" are remarks. Values in double quotes are unquoted.
func Parse(text string) *Recorded {
	r := &Recorded{values: make(map[string]string)}
	name, value := "", []string(nil)
	finish := func() {
		if name == "" {
			return
		}
		joined := strings.TrimRight(strings.Join(value, "\n"), "\n\x00")
		if plain, err := strconv.Unquote(joined); err == nil && strings.HasPrefix(joined, `"`) {
			joined = strings.TrimRight(plain, "\x00")
		}
		if _, twice := r.values[name]; !twice {
			r.order = append(r.order, name)
		}
		r.values[name] = joined
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if strings.HasPrefix(line, ">>>") || strings.HasPrefix(line, "    #") {
			continue
		}
		if begin, rest, found := cutName(line); found {
			finish()
			name, value = begin, []string{rest}
			continue
		}
		value = append(value, line)
	}
	finish()
	return r
}

// cutName splits "kern.smp.cpus: 8". A name has at least two parts, of
// letters, digits, underscores, percent signs and dashes.
func cutName(line string) (name, value string, found bool) {
	name, value, found = strings.Cut(line, ":")
	if !found || !strings.Contains(name, ".") {
		return "", "", false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || slices.Contains([]rune("_%-"), c))
		}) {
			return "", "", false
		}
	}
	return name, strings.TrimPrefix(value, " "), true
}
