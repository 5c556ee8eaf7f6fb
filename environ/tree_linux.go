package environ

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tree is a root directory with /proc and /sys in it: this machine's, or a
// recorded one.
type tree struct {
	e    *Environment
	root string
	live bool // root is this machine's: system calls may be asked too
}

// A file of /proc or /sys that is longer is cut: only the list of interrupts
// in /proc/stat comes near, and none of it is wanted.
const maxFile = 4 << 20

func (t tree) path(p string) string { return filepath.Join(t.root, p) }

// read is a file's text without blanks and NULs at its end.
func (t tree) read(p string) (string, error) {
	f, err := os.Open(t.path(p))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), " \t\n\x00"), nil
}

// try is read, with "" where there is nothing to read.
func (t tree) try(p string) string {
	s, _ := t.read(p)
	return s
}

// text reads a file for the field called name, or notes its absence.
func (t tree) text(name, p string) string {
	s, err := t.read(p)
	if err != nil {
		t.e.absent(name, why(p, err))
	}
	return s
}

// number is text for a decimal number.
func (t tree) number(name, p string) *int64 {
	s, err := t.read(p)
	if err != nil {
		t.e.absent(name, why(p, err))
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.e.absent(name, p+" is "+strconv.Quote(s)+", not a number")
		return nil
	}
	return &n
}

// exists says whether p is there; a directory that may not be searched gives false.
func (t tree) exists(p string) bool {
	_, err := os.Stat(t.path(p))
	return err == nil
}

// glob lists what matches, as paths under the root.
func (t tree) glob(pattern string) []string {
	found, _ := filepath.Glob(t.path(pattern))
	for i, p := range found {
		rel, err := filepath.Rel(t.root, p)
		if err != nil {
			continue
		}
		found[i] = "/" + rel
	}
	return found
}

// distinct reads every file that matches and returns the different texts, sorted.
func (t tree) distinct(pattern string) []string {
	seen := map[string]bool{}
	for _, p := range t.glob(pattern) {
		if s := t.try(p); s != "" {
			seen[s] = true
		}
	}
	return sortedKeys(seen)
}

// files reads every regular file of a directory that holds one short line, by
// its name. The error is the first of them where none can be read.
func (t tree) files(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(t.path(dir))
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	var first error
	for _, d := range entries {
		if d.IsDir() {
			continue
		}
		s, err := t.read(filepath.Join(dir, d.Name()))
		if err != nil {
			first = cmp.Or(first, err)
		} else if len(s) < 4096 && !strings.Contains(s, "\n") {
			m[d.Name()] = s
		}
	}
	if len(m) == 0 {
		return nil, cmp.Or(first, errors.New("it holds no setting"))
	}
	return m, nil
}

// parseKeys reads "key : value" or "key value" lines and gives the first value
// of each key.
func parseKeys(text, sep string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, sep)
		if !ok {
			continue
		}
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if _, dup := m[key]; !dup {
			m[key] = strings.TrimSpace(value)
		}
	}
	return m
}

// countList counts the CPUs of a list such as 0-3,8. It is -1 for a text that
// is no such list.
func countList(list string) int {
	n := 0
	for word := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(word), "-")
		a, err := strconv.Atoi(lo)
		if err != nil || a < 0 {
			return -1
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(hi); err != nil || b < a || b > 1<<20 {
				return -1
			}
		}
		n += b - a + 1
	}
	return n
}
