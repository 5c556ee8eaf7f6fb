package profile

import (
	"bufio"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// call is one line of a log that matters: a system call that has finished, or
// the end of a thread.
type call struct {
	thread     int
	start, end float64 // seconds; end is start where the log does not say
	name, args string  // args without what stands in quotes; name "" where the thread ended
	result     int64
	file       string // what strace -y says that a resulting descriptor is
	again      bool   // EAGAIN
}

var (
	lineForm  = regexp.MustCompile(`^(?:\[pid +(\d+)\] +|(\d+) +)?(\d+\.\d+) +(.*)$`)
	quoted    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\.\.\.)?`)
	straceSaw = regexp.MustCompile(`/\* (\d+) in strace's PID NS \*/`)
)

// readLog reads a log of strace -f -ttt: its calls in the order in which they
// finished. Two count from their beginning: a close, since another thread may have
// the number again before it is said to have ended, and a fork, since the child
// may be heard, and the parent's descriptors be closed, before it is.
func readLog(r io.Reader) (calls []call, lines int, err error) {
	pending := map[int]call{} // unfinished
	begun := map[int]int{}    // those in calls already, by thread
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		m := lineForm.FindStringSubmatch(sc.Text())
		if m == nil {
			continue
		}
		lines++
		thread, _ := strconv.Atoi(m[1] + m[2])
		time, _ := strconv.ParseFloat(m[3], 64)
		text := m[4]
		if tail, ok := strings.CutPrefix(text, "<... "); ok {
			x, known := pending[thread]
			_, tail, ok = strings.Cut(tail, " resumed>")
			if !ok || !known {
				continue
			}
			delete(pending, thread)
			x.end = time
			ok = x.ends(x.args + tail)
			if i, early := begun[thread]; early {
				delete(begun, thread)
				calls[i] = x
				if !ok || x.result < 0 {
					calls[i].name = "failed"
				}
			} else if ok {
				calls = append(calls, x)
			}
			continue
		}
		if strings.HasPrefix(text, "+++ ") {
			delete(pending, thread)
			delete(begun, thread)
			calls = append(calls, call{thread: thread, start: time, end: time})
			continue
		}
		name, args, ok := strings.Cut(text, "(")
		if !ok || strings.ContainsAny(name, " +-") {
			continue // a signal
		}
		x := call{thread: thread, start: time, end: time, name: name}
		if head, ok := strings.CutSuffix(args, "<unfinished ...>"); ok {
			x.args = strings.TrimRight(head, " ")
			pending[thread] = x
			if name == "close" || isFork(name) {
				begun[thread] = len(calls)
				calls = append(calls, x)
			}
			continue
		}
		if x.ends(args) {
			calls = append(calls, x)
		}
	}
	return calls, lines, sc.Err()
}

func isFork(name string) bool {
	return name == "fork" || name == "vfork" || name == "clone" || name == "clone3"
}

// ends reads the arguments and the result of a finished call.
func (x *call) ends(text string) bool {
	i := strings.LastIndex(text, ") = ")
	if i < 0 {
		if i = strings.LastIndex(text, ")= "); i < 0 {
			// strace sets results in columns.
			if i = strings.LastIndex(text, ")"); i < 0 {
				return false
			}
		}
	}
	x.args = quoted.ReplaceAllString(text[:i], `""`)
	rest := strings.TrimSpace(strings.TrimLeft(text[i+1:], " ="))
	word, more, _ := strings.Cut(rest, " ")
	word, x.file, _ = strings.Cut(word, "<")
	x.file = strings.TrimSuffix(x.file, ">")
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		return false // "?": the thread ended in it
	}
	x.result = n
	if m := straceSaw.FindStringSubmatch(more); m != nil { // a thread, as the log numbers it
		x.result, _ = strconv.ParseInt(m[1], 10, 64)
	}
	x.again = n < 0 && strings.HasPrefix(more, "EAGAIN")
	if j := strings.LastIndex(rest, " <"); j >= 0 && strings.HasSuffix(rest, ">") { // -T: the time that it took
		if took, err := strconv.ParseFloat(rest[j+2:len(rest)-1], 64); err == nil {
			x.end = x.start + took
		}
	}
	return true
}

// descriptor reads the argument of that number, from 0: a descriptor, and what
// strace -y says that it is.
func (x *call) descriptor(argument int) (fd int, file string, ok bool) {
	args := x.args
	for range argument {
		_, rest, found := strings.Cut(args, ", ")
		if !found {
			return 0, "", false
		}
		args = rest
	}
	return number(args)
}

// polled reads the descriptors that a call of poll waits for.
func (x *call) polled() (fds []int) {
	for _, part := range strings.Split(x.args, "fd=")[1:] {
		if fd, _, ok := number(part); ok {
			fds = append(fds, fd)
		}
	}
	return fds
}

// number reads a descriptor that text begins with, and what strace -y says that
// it is.
func number(text string) (fd int, file string, ok bool) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	// Behind a descriptor stands a comma, the end, or what it is.
	if n == 0 || n < len(text) && !strings.ContainsRune(",<) ]", rune(text[n])) {
		return 0, "", false
	}
	v, err := strconv.Atoi(text[:n])
	if n < len(text) && text[n] == '<' {
		file = text[n+1:]
		// What it is may hold ">", as in [1->2].
		for _, end := range []string{">,", ">)", "> ", ">]"} {
			if before, _, found := strings.Cut(file, end); found {
				file = before
			}
		}
		file = strings.TrimSuffix(file, ">")
	}
	return v, file, err == nil
}

// messages is how many bytes sendmmsg or recvmmsg moved: the sum of the lengths
// of the messages that it says were moved.
func (x *call) messages() (bytes int64) {
	var lengths []int64
	for _, part := range strings.Split(x.args, "msg_len=")[1:] {
		n := 0
		for n < len(part) && part[n] >= '0' && part[n] <= '9' {
			n++
		}
		if v, err := strconv.ParseInt(part[:n], 10, 64); err == nil && int64(len(lengths)) < x.result {
			lengths = append(lengths, v)
		}
	}
	if len(lengths) == 0 {
		return 0
	}
	// strace cuts long lists; the rest is taken to be alike.
	return sum(lengths) * x.result / int64(len(lengths))
}
