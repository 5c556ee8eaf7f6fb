// Package kallsyms gives kernel addresses their function names.
//
//	workers ─▶ stacks of addresses ─▶ NAMES ─▶ lockwait, offcpu ─▶ run record
//
// The table is /proc/kallsyms (kernel/kallsyms.c): address, type, name and, for
// a module, its name in brackets. Addresses are zeroes to those whom
// kernel.kptr_restrict and the want of CAP_SYSLOG keep out.
package kallsyms

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// ErrHidden is returned for a table whose addresses are all zero.
var ErrHidden = errors.New("function addresses are hidden: needs CAP_SYSLOG, or kernel.kptr_restrict 0 and kernel.perf_event_paranoid 1 or lower")

// ErrEmpty is returned for a table without functions.
var ErrEmpty = errors.New("no functions in the table (CONFIG_KALLSYMS)")

// Table holds the functions of a running kernel, by address.
type Table struct {
	addrs []uint64
	names []string

	lockLo, lockHi   uint64 // lock primitives
	schedLo, schedHi uint64 // functions that sleep for others
}

func readable(r io.Reader) error {
	s := bufio.NewScanner(r)
	for s.Scan() {
		fields := bytes.Fields(s.Bytes())
		if len(fields) < 3 || !bytes.ContainsAny(fields[1], "tTwW") {
			continue
		}
		if addr, err := strconv.ParseUint(string(fields[0]), 16, 64); err != nil || addr == 0 {
			return ErrHidden
		}
		return nil
	}
	if err := s.Err(); err != nil {
		return err
	}
	return ErrEmpty
}

// Read reads a table. Data symbols and the marks that compilers put before
// functions (__pfx_, __cfi_) are left out.
func Read(r io.Reader) (*Table, error) {
	type function struct {
		addr uint64
		name string
	}
	var all []function
	t := &Table{}
	hidden := false
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		fields := bytes.Fields(s.Bytes())
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 3 || len(fields[1]) != 1 {
			return nil, fmt.Errorf("kallsyms line %d: %q is not address, type and name", n, s.Text())
		}
		addr, err := strconv.ParseUint(string(fields[0]), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("kallsyms line %d: address %q", n, fields[0])
		}
		switch fields[1][0] {
		case 't', 'T', 'w', 'W':
		default:
			continue
		}
		if addr == 0 {
			hidden = true
			continue
		}
		name := string(fields[2])
		switch name {
		case "__lock_text_start":
			t.lockLo = addr
		case "__lock_text_end":
			t.lockHi = addr
		case "__sched_text_start":
			t.schedLo = addr
		case "__sched_text_end":
			t.schedHi = addr
		case "_etext":
		}
		if mark(name) {
			continue
		}
		all = append(all, function{addr, name})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if hidden {
			return nil, ErrHidden
		}
		return nil, ErrEmpty
	}
	slices.SortStableFunc(all, func(a, b function) int {
		if a.addr != b.addr {
			if a.addr < b.addr {
				return -1
			}
			return 1
		}
		return rank(a.name) - rank(b.name)
	})
	for _, f := range all {
		if n := len(t.addrs); n > 0 && t.addrs[n-1] == f.addr {
			continue // an alias
		}
		t.addrs = append(t.addrs, f.addr)
		t.names = append(t.names, f.name)
	}
	return t, nil
}

// mark tells section edges and prefixes of functions from functions.
func mark(name string) bool {
	return strings.HasPrefix(name, "__pfx_") || strings.HasPrefix(name, "__cfi_") ||
		strings.HasSuffix(name, "_text_start") || strings.HasSuffix(name, "_text_end")
}

// rank orders the names of one address: the one that a source file has first.
func rank(name string) int {
	switch {
	case strings.HasPrefix(name, "__ia32_"), strings.HasPrefix(name, "__se_"):
		return 2
	case strings.HasPrefix(name, "$"):
		return 3
	case strings.Contains(name, "."):
		return 1
	}
	return 0
}

// Name gives the function that holds addr and the offset in it. ok is false
// where none does: below the first function, or past the end of the kernel's
// own text, as code that was unloaded since.
func (t *Table) Name(addr uint64) (name string, offset uint64, ok bool) {
	i := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[i] > addr }) - 1
	if i < 0 {
		return "", 0, false
	}
	name, offset = t.names[i], addr-t.addrs[i]
	if strings.HasPrefix(name, "_etext") || strings.HasPrefix(name, "_einittext") || offset > 1<<20 {
		return "", 0, false
	}
	return base(name), offset, true
}

// base cuts what a compiler adds to the name of a part or a clone of a
// function: .isra.0, .part.0, .constprop.0, .cold, .llvm.123.
func base(name string) string {
	for _, cut := range []string{".isra.", ".part.", ".constprop.", ".cold", ".llvm."} {
		if i := strings.Index(name, cut); i > 0 {
			name = name[:i]
		}
	}
	return name
}

// IsLock tells whether addr is in the kernel's lock primitives (.spinlock.text).
func (t *Table) IsLock(addr uint64) bool { return t.lockLo <= addr && addr < t.lockHi }

// IsSched tells whether addr is in a function that sleeps for its caller
// (.sched.text: schedule, mutexes, semaphores, completions).
func (t *Table) IsSched(addr uint64) bool { return t.schedLo <= addr && addr < t.schedHi }
