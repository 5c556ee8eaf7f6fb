package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Seen is what a log held, beside the profile that was made of it.
type Seen struct {
	Connections   int
	Exchanges     int
	Calls         map[string]float64 // system calls an exchange, by name, of the threads that serve connections
	Waits         float64            // of them: reads that found nothing yet, and the polls after them; they follow the clients' pace
	RequestBytes  float64            // mean
	ResponseBytes float64
	ReadNS        int64 // that strace lets pass between two calls with nothing between them; taken off the work
}

// AllCalls is the system calls of an exchange.
func (s *Seen) AllCalls() (sum float64) {
	for _, n := range s.Calls {
		sum += n
	}
	return sum
}

// call is one finished system call of a log.
type call struct {
	thread     int
	start, end float64 // seconds; end is start where the log does not say
	name, args string
	result     int64
	again      bool // EAGAIN
}

// conn is a descriptor that a conversation goes over.
type conn struct {
	opened  bool // its accept is in the log
	first   bool // the next exchange is the first
	reads   []int64
	writes  []int64
	readEnd float64
	think   int64 // ns from the last read to the first write; -1 none yet
	done    []exchange
}

// exchange is one request and its reply, as it was seen.
type exchange struct {
	reads, writes []int64
	think         int64
}

func sum(ns []int64) (all int64) {
	for _, n := range ns {
		all = min(all+n, 1<<55) // no true log adds up to that
	}
	return all
}

var lineForm = regexp.MustCompile(`^(?:\[pid +(\d+)\] +|(\d+) +)?(\d+\.\d+) +(.*)$`)

// FromStrace makes a profile of the log of a server process that was written by
// strace -f -ttt -T -e trace=network,desc (or attached to with those). Connections
// are told apart by descriptor, exchanges by a read that follows a write. Sizes
// and the time from the last read to the first write become distributions. Where
// connections go through the same exchanges over and over, the profile keeps
// their order; else it draws them by their frequency.
func FromStrace(r io.Reader) (*Profile, *Seen, error) {
	conns := map[int]*conn{}
	var closed []*conn
	calls := map[string]int{}      // of threads that serve
	byThread := map[int][]string{} // calls since the thread's last word on a connection
	pending := map[int]call{}      // unfinished
	var gaps []int64               // between the first and second read of a request
	dontWait, polled, waits := false, false, 0
	lines := 0

	at := func(fd int) *conn {
		c := conns[fd]
		if c == nil {
			c = &conn{first: true, think: -1}
			conns[fd] = c
		}
		return c
	}
	finish := func(c *conn) {
		if len(c.reads) > 0 && len(c.writes) > 0 {
			// Of a connection that was open already, the first may be torn.
			if c.opened || !c.first {
				c.done = append(c.done, exchange{c.reads, c.writes, c.think})
			}
			c.first = false
		} else if len(c.writes) > 0 {
			c.first = false
		}
		c.reads, c.writes, c.think = nil, nil, -1
	}
	count := func(x call) {
		for _, name := range byThread[x.thread] {
			calls[name]++
		}
		byThread[x.thread] = nil
		calls[x.name]++
	}
	handle := func(x call) {
		switch x.name {
		case "accept", "accept4":
			if x.result >= 0 {
				fd := int(x.result)
				if old := conns[fd]; old != nil {
					closed = append(closed, old)
				}
				conns[fd] = &conn{opened: true, first: true, think: -1}
			}
			byThread[x.thread] = nil
			return
		case "poll", "ppoll":
			fd, ok := number1(x.args, "fd=")
			if c := conns[fd]; ok && c != nil {
				polled = true
				waits++
				count(x)
			}
			return
		}
		fd, ok := number1(x.args, "")
		if !ok {
			byThread[x.thread] = append(byThread[x.thread], x.name)
			return
		}
		switch x.name {
		case "close":
			if c := conns[fd]; c != nil {
				finish(c)
				closed = append(closed, c)
				delete(conns, fd)
			}
			byThread[x.thread] = nil
		case "read", "recvfrom", "recvmsg", "readv", "recv":
			c := at(fd)
			if len(c.writes) > 0 {
				finish(c)
			}
			if x.again {
				waits++
			}
			dontWait = dontWait || strings.Contains(x.args, "MSG_DONTWAIT") || x.again
			count(x)
			if x.result > 0 && x.result < 1<<40 {
				if len(c.reads) == 1 {
					gaps = append(gaps, int64((x.start-c.readEnd)*1e9))
				}
				c.reads = append(c.reads, x.result)
				c.readEnd = x.end
			}
		case "write", "sendto", "sendmsg", "writev", "send":
			c := at(fd)
			count(x)
			if x.result > 0 && x.result < 1<<40 {
				if c.think < 0 && len(c.reads) > 0 {
					c.think = max(int64((x.start-c.readEnd)*1e9), 0)
				}
				c.writes = append(c.writes, x.result)
			}
		default:
			byThread[x.thread] = append(byThread[x.thread], x.name)
		}
	}

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
			if x.ends(x.args + tail) {
				handle(x)
			}
			continue
		}
		name, args, ok := strings.Cut(text, "(")
		if !ok || strings.ContainsAny(name, " +-") {
			continue // a signal, an exit
		}
		x := call{thread: thread, start: time, end: time, name: name}
		if head, ok := strings.CutSuffix(args, "<unfinished ...>"); ok {
			x.args = strings.TrimRight(head, " ")
			pending[thread] = x
			continue
		}
		if x.ends(args) {
			handle(x)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, nil, err
	}
	if lines == 0 {
		return nil, nil, fmt.Errorf("no line of it is strace's with -ttt: record with strace -f -ttt -T -e trace=network,desc")
	}
	for _, c := range conns {
		closed = append(closed, c)
	}
	var all []exchange
	seen := &Seen{Calls: map[string]float64{}}
	for _, c := range closed {
		if len(c.done) < 2 {
			c.done = nil // a descriptor that is read and written once or twice is no conversation
			continue
		}
		seen.Connections++
		all = append(all, c.done...)
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%d calls, but no exchange of request and reply among them: was the server asked anything meanwhile?", lines)
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		seen.ReadNS = max(gaps[len(gaps)/2], 0)
	}
	seen.Exchanges = len(all)
	seen.Waits = float64(waits) / float64(len(all))
	for name, n := range calls {
		seen.Calls[name] = float64(n) / float64(len(all))
	}
	for _, x := range all {
		seen.RequestBytes += float64(sum(x.reads)) / float64(len(all))
		seen.ResponseBytes += float64(sum(x.writes)) / float64(len(all))
	}
	p := &Profile{IO: Block, ClientIO: Block, ClientRead: 16384, Lock: Lock{Kind: NoLock}, Header: header(all)}
	if dontWait || polled {
		p.IO = Poll
	}
	var order [][]string
	p.Exchanges, order = classes(closed, seen.ReadNS)
	if cycle := inOrder(p.Exchanges, order); cycle != nil {
		p.Exchanges = cycle
	}
	p.Notes = append(p.Notes, fmt.Sprintf("seen: %d exchanges on %d connections; %.3f calls an exchange (%s)",
		seen.Exchanges, seen.Connections, seen.AllCalls(), seen.CallText()))
	return p, seen, p.check()
}

// CallText lists the calls of an exchange, the most frequent first.
func (s *Seen) CallText() string {
	var names []string
	for name := range s.Calls {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Calls[b], s.Calls[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		if s.Calls[name] >= 0.0005 {
			parts = append(parts, fmt.Sprintf("%s %.3f", name, s.Calls[name]))
		}
	}
	return strings.Join(parts, ", ")
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
	x.args = text[:i]
	rest := strings.TrimSpace(strings.TrimLeft(text[i+1:], " ="))
	word, more, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		return false // "?": the thread ended in it
	}
	x.result = n
	x.again = n < 0 && strings.HasPrefix(more, "EAGAIN")
	if j := strings.LastIndex(rest, " <"); j >= 0 && strings.HasSuffix(rest, ">") { // -T: the time that it took
		if took, err := strconv.ParseFloat(rest[j+2:len(rest)-1], 64); err == nil {
			x.end = x.start + took
		}
	}
	return true
}

// number1 reads the number behind the first mark in args; with no mark, that
// which args begin with.
func number1(args, mark string) (int, bool) {
	if mark != "" {
		_, rest, ok := strings.Cut(args, mark)
		if !ok {
			return 0, false
		}
		args = rest
	}
	n := 0
	for n < len(args) && args[n] >= '0' && args[n] <= '9' {
		n++
	}
	// Behind a descriptor stands a comma, the end, or what strace -y says it is.
	if n == 0 || n < len(args) && !strings.ContainsRune(",<) ", rune(args[n])) {
		return 0, false
	}
	v, err := strconv.Atoi(args[:n])
	return v, err == nil
}

// header is the size of the first read where nearly all requests begin with one
// of that size and go on; 0 where they do not.
func header(all []exchange) int {
	sizes := map[int64]int{}
	for _, x := range all {
		if len(x.reads) > 1 {
			sizes[x.reads[0]]++
		}
	}
	for size, n := range sizes {
		if n*10 >= len(all)*9 && size <= 64 {
			return int(size)
		}
	}
	return 0
}

// maxClasses bounds the exchanges that a recorded profile tells apart.
const maxClasses = 32

// classes puts exchanges of one shape together: the same sizes, or where there
// are too many different ones, nearly the same. free is taken off each think
// time. The order is that of the classes' names on each connection.
func classes(conns []*conn, free int64) (out []Exchange, order [][]string) {
	var all []exchange
	for _, c := range conns {
		all = append(all, c.done...)
	}
	type class struct {
		name string
		all  []exchange
	}
	group := func(key func(exchange) string) []*class {
		found := map[string]*class{}
		var order []*class
		for _, x := range all {
			k := key(x)
			if found[k] == nil {
				found[k] = &class{name: k}
				order = append(order, found[k])
			}
			found[k].all = append(found[k].all, x)
		}
		slices.SortStableFunc(order, func(a, b *class) int { return cmp.Compare(len(b.all), len(a.all)) })
		return order
	}
	writes := func(x exchange) int { return min(len(x.writes), MaxWrites) }
	exact := func(x exchange) string {
		return fmt.Sprintf("%d-to-%d.%d", sum(x.reads), sum(x.writes), writes(x))
	}
	octave := func(n int64) int { return int(math.Round(2 * math.Log2(float64(n)))) }
	near := func(x exchange) string {
		return fmt.Sprintf("about-%d-to-%d.%d", 1<<(octave(sum(x.reads))/2), 1<<(octave(sum(x.writes))/2), writes(x))
	}
	found := group(exact)
	if len(found) > maxClasses {
		found = group(near)
	}
	if len(found) > maxClasses {
		rest := &class{name: "other.1"}
		for _, c := range found[maxClasses-1:] {
			rest.all = append(rest.all, c.all...)
		}
		found = append(found[:maxClasses-1], rest)
	}
	key, known := exact, map[string]string{}
	if len(found) > 0 && strings.HasPrefix(found[0].name, "about-") {
		key = near
	}
	taken := map[string]bool{}
	for _, c := range found {
		name, parts, _ := strings.Cut(c.name, ".")
		if taken[name] {
			name += "-in-" + parts
		}
		taken[name], known[c.name] = true, name
		x := Exchange{Name: name, Weight: len(c.all)}
		var request, think []int64
		n := MaxWrites
		for _, e := range c.all {
			request = append(request, min(sum(e.reads), MaxBytes))
			think = append(think, min(max(e.think-free, 0), MaxNS))
			n = min(n, writes(e))
		}
		x.Request = []Dist{distribution(request, MaxValues)}
		// The longest hundredth is not the server's work but what kept it from it.
		slices.Sort(think)
		x.Work = distribution(think[:len(think)-len(think)/100], 20)
		for i := range n {
			var sizes []int64
			for _, e := range c.all {
				if i == n-1 {
					sizes = append(sizes, min(sum(e.writes[i:]), MaxBytes)) // what is more goes with the last
				} else {
					sizes = append(sizes, min(e.writes[i], MaxBytes))
				}
			}
			x.Response = append(x.Response, distribution(sizes, MaxValues))
		}
		if len(found) == 1 {
			x.Weight, x.Repeat = 0, 1
		}
		out = append(out, x)
	}
	for _, c := range conns {
		var names []string
		for _, x := range c.done {
			names = append(names, cmp.Or(known[key(x)], "other"))
		}
		order = append(order, names)
	}
	return out, order
}

// inOrder gives the exchanges in the order in which connections go through them
// over and over, as the statements of a transaction; nil where they do not.
func inOrder(kinds []Exchange, order [][]string) []Exchange {
	const most = 1024 // exchanges in a cycle
	for period := 2; period <= most; period++ {
		same, all := 0, 0
		var example []string
		for _, names := range order {
			if len(names) < 3*period {
				continue
			}
			for i := period; i < len(names); i++ {
				all++
				if names[i] == names[i-period] {
					same++
				}
			}
			if example == nil {
				example = names[len(names)-period:]
			}
		}
		if all == 0 {
			return nil
		}
		if same*100 < all*99 {
			continue
		}
		// Begin where one kind gives way to another, the rarest first.
		count := map[string]int{}
		for _, name := range example {
			count[name]++
		}
		start := -1
		for i, name := range example {
			if name != example[(i+period-1)%period] && (start < 0 || count[name] < count[example[start]]) {
				start = i
			}
		}
		if start < 0 {
			return nil
		}
		var out []Exchange
		for i := range period {
			name := example[(start+i)%period]
			if n := len(out); n > 0 && out[n-1].Name == name {
				out[n-1].Repeat++
				continue
			}
			j := slices.IndexFunc(kinds, func(x Exchange) bool { return x.Name == name })
			if j < 0 {
				return nil
			}
			x := kinds[j]
			x.Weight, x.Repeat = 0, 1
			out = append(out, x)
		}
		if len(out) > MaxExchanges {
			return nil
		}
		return out
	}
	return nil
}
