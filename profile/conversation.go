package profile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// conn is an open socket that a conversation may go over, in however many
// descriptor tables it stands.
type conn struct {
	opened  bool   // its accept is in the log
	not     bool   // no client's connection: another file, or one that the server made itself
	socket  string // what strace -y calls it, where that names one socket
	holders int    // descriptors that stand for it

	first    bool // the next exchange is the first
	reads    []int64
	writes   []int64
	readEnd  float64
	think    int64 // ns from the last read to the first write; -1 none yet
	dontWait bool
	now      tally // of the exchange under way
	kept     tally // of those that are done
	done     []exchange
	servers  map[*table]bool
}

// tally counts system calls.
type tally struct {
	calls map[string]int
	waits int
}

// exchange is one request and its reply, as it was seen.
type exchange struct {
	reads, writes []int64
	think         int64
}

func newConn() *conn {
	return &conn{first: true, think: -1, now: tally{calls: map[string]int{}}, kept: tally{calls: map[string]int{}}, servers: map[*table]bool{}}
}

// finish ends the exchange under way. One that is torn is left out with its calls.
func (c *conn) finish() {
	if len(c.reads) > 0 && len(c.writes) > 0 {
		// Of a connection that was open already, the first may be torn.
		if c.opened || !c.first {
			c.done = append(c.done, exchange{c.reads, c.writes, c.think})
			for name, n := range c.now.calls {
				c.kept.calls[name] += n
			}
			c.kept.waits += c.now.waits
		}
		c.first = false
	} else if len(c.writes) > 0 {
		c.first = false
	}
	clear(c.now.calls)
	c.now.waits = 0
	c.reads, c.writes, c.think = nil, nil, -1
}

// table is a descriptor table, which threads of one process share.
type table struct {
	fds     map[int]*conn
	threads int         // 0: that it began with, and which are not known
	closed  map[int]int // which thread closed a connection's descriptor, until it is in use again
}

// world is all tables and connections of a log.
type world struct {
	tables  map[int]*table // by thread
	root    *table         // of those that were there at the start
	conns   []*conn        // in the order in which they were made
	only    map[int]bool   // which of them are conversations; nil: not known yet
	sockets map[string]*conn
}

func newWorld() *world {
	return &world{tables: map[int]*table{}, root: newTable(), sockets: map[string]*conn{}}
}

func newTable() *table { return &table{fds: map[int]*conn{}, closed: map[int]int{}} }

// of is the table of a thread. A thread whose fork is not in the log was there
// when it began, with the others.
func (w *world) of(thread int) *table {
	if t := w.tables[thread]; t != nil {
		return t
	}
	w.tables[thread] = w.root
	return w.root
}

// forked is told that a thread has made another: with the same descriptor table,
// or with a copy.
func (w *world) forked(parent, child int, shared bool) {
	t := w.of(parent)
	if !shared {
		from := t
		t = newTable()
		for fd, c := range from.fds {
			w.put(t, fd, c)
		}
	}
	t.threads++
	w.tables[child] = t
}

// put has a descriptor stand for c.
func (w *world) put(t *table, fd int, c *conn) {
	if t.fds[fd] == c {
		return
	}
	w.drop(t, fd, 0)
	delete(t.closed, fd)
	t.fds[fd] = c
	c.holders++
}

// drop closes a descriptor.
func (w *world) drop(t *table, fd, thread int) {
	c := t.fds[fd]
	if c == nil {
		return
	}
	delete(t.fds, fd)
	t.closed[fd] = thread
	c.holders--
}

// ended is told that a thread has ended. With the last of a process its
// descriptors are closed; the process that the log began with may have threads
// that have said nothing yet.
func (w *world) ended(thread int) {
	t := w.tables[thread]
	delete(w.tables, thread)
	if t == nil || t == w.root {
		return
	}
	if t.threads--; t.threads == 0 {
		for fd := range t.fds {
			w.drop(t, fd, thread)
		}
	}
}

// made gives a descriptor a connection of its own.
func (w *world) made(t *table, fd int, file string) *conn {
	c := newConn()
	c.not = w.only != nil && !w.only[len(w.conns)]
	if strings.HasPrefix(file, "socket:[") {
		c.socket = file
		w.sockets[file] = c
	}
	w.conns = append(w.conns, c)
	w.put(t, fd, c)
	return c
}

// at is what a descriptor stands for. It is made where the log has not seen it
// being made.
func (w *world) at(t *table, fd int, file string) *conn {
	c := t.fds[fd]
	if c != nil && (file == "" || c.socket == "" || c.socket == file) {
		return c
	}
	// What strace -y says is certain, also of descriptors from another process.
	if c = w.sockets[file]; c != nil {
		w.put(t, fd, c)
		return c
	}
	c = w.made(t, fd, file)
	c.not = c.not || file != "" && !isSocket(file)
	return c
}

// isSocket reports whether what strace -y or -yy says is a socket.
func isSocket(file string) bool {
	kind, _, ok := strings.Cut(file, ":[")
	return ok && kind != "pipe" && kind != "anon_inode" && !strings.HasPrefix(kind, "/")
}

// listener follows the calls of a log.
type listener struct {
	*world
	between map[int][]string // calls of a thread since its last on a connection
	spoken  map[int]bool     // threads that have had one
	gaps    []int64          // between the first and second read of a request
	calls   int
	uring   bool
	strange int    // calls that two threads of one process cannot have made
	split   string // the last of them
}

// hear takes one call.
func (l *listener) hear(x *call) {
	t := l.of(x.thread)
	if x.name == "" {
		l.ended(x.thread)
		delete(l.between, x.thread)
		delete(l.spoken, x.thread)
		return
	}
	l.calls++
	fd, file, ok := x.descriptor(0)
	switch x.name {
	case "fork", "vfork", "clone", "clone3":
		if x.result > 0 {
			l.forked(x.thread, int(x.result), strings.Contains(x.args, "CLONE_FILES"))
		}
		l.aside(x)
	case "accept", "accept4":
		if x.result >= 0 {
			l.fresh(t, int(x.result))
			l.made(t, int(x.result), x.file).opened = true
		}
		delete(l.between, x.thread)
	case "close":
		if ok && x.result >= 0 {
			l.drop(t, fd, x.thread)
		}
		delete(l.between, x.thread)
	case "close_range":
		last, _, ok2 := x.descriptor(1)
		for at := range t.fds {
			if ok && at >= fd && (!ok2 || at <= last) && x.result == 0 {
				l.drop(t, at, x.thread)
			}
		}
	case "dup", "dup2", "dup3", "fcntl":
		isDup := x.name != "fcntl" || strings.Contains(x.args, "F_DUPFD")
		if c := t.fds[fd]; ok && c != nil && isDup && x.result >= 0 && int(x.result) != fd {
			l.put(t, int(x.result), c)
		} else if isDup && x.result >= 0 && int(x.result) != fd {
			l.fresh(t, int(x.result))
		}
		l.aside(x)
	case "connect":
		if ok && (x.result == 0 || strings.Contains(x.args, "EINPROGRESS")) {
			l.at(t, fd, file).not = true // the server is a client there
		}
		l.aside(x)
	case "poll", "ppoll":
		if fds := x.polled(); len(fds) == 1 && t.fds[fds[0]] != nil && !t.fds[fds[0]].not {
			c := t.fds[fds[0]]
			c.now.waits++
			l.count(c, x)
			return
		}
		l.aside(x)
	case "read", "recv", "recvfrom", "recvmsg", "recvmmsg", "readv", "preadv2":
		if !ok || x.name == "preadv2" && !strings.Contains(x.args, ", -1, ") {
			l.aside(x)
			return
		}
		l.read(t, l.use(t, fd, file, x), x)
	case "write", "send", "sendto", "sendmsg", "sendmmsg", "writev", "pwritev2", "sendfile", "sendfile64":
		if !ok || x.name == "pwritev2" && !strings.Contains(x.args, ", -1, ") {
			l.aside(x)
			return
		}
		l.write(l.use(t, fd, file, x), x)
	case "splice":
		// Between a pipe and a socket. Both are looked up before it is known which,
		// so that connections have the same numbers however often they are followed.
		in, out := l.spliced(t, x, 0), l.spliced(t, x, 2)
		switch {
		case in != nil && !in.not:
			l.read(t, in, x)
		case out != nil && !out.not:
			l.write(out, x)
		default:
			l.aside(x)
		}
	default:
		l.uring = l.uring || strings.HasPrefix(x.name, "io_uring")
		if makes[x.name] && x.result >= 0 {
			l.fresh(t, int(x.result))
			if c := l.made(t, int(x.result), x.file); x.name != "socket" {
				c.not = true
			}
		}
		if m := pairForm.FindStringSubmatch(x.args); m != nil && x.result == 0 {
			for _, text := range m[1:] {
				fd, _ := strconv.Atoi(text)
				l.fresh(t, fd)
				if x.name != "socketpair" {
					l.made(t, fd, "").not = true
				}
			}
		}
		l.aside(x)
	}
}

// pairForm is what pipe and socketpair made: two descriptors.
var pairForm = regexp.MustCompile(`\[(\d+), (\d+)\]`)

// makes are calls whose result is a descriptor; of all but socket, no connection's.
var makes = map[string]bool{"socket": true, "open": true, "openat": true, "openat2": true, "creat": true, "eventfd": true, "eventfd2": true,
	"epoll_create": true, "epoll_create1": true, "timerfd_create": true, "signalfd": true, "signalfd4": true, "inotify_init": true,
	"inotify_init1": true, "memfd_create": true, "pidfd_open": true, "userfaultfd": true, "io_uring_setup": true, "perf_event_open": true}

// fresh is told that a descriptor has been made anew: what it stood for was
// closed unseen.
func (l *listener) fresh(t *table, fd int) {
	l.drop(t, fd, 0)
	delete(t.closed, fd)
}

// aside keeps a call until its thread has its next word on a connection.
func (l *listener) aside(x *call) {
	l.between[x.thread] = append(l.between[x.thread], x.name)
}

// count counts a call, and those that its thread made since its last word, to
// the exchange under way. What a thread did before its first word was no part of
// one.
func (l *listener) count(c *conn, x *call) {
	if l.spoken[x.thread] {
		for _, name := range l.between[x.thread] {
			c.now.calls[name]++
		}
	}
	l.spoken[x.thread] = true
	delete(l.between, x.thread)
	c.now.calls[x.name]++
}

// bytes is how much a read or write moved.
func (x *call) bytes() int64 {
	switch {
	case x.result <= 0 || x.result >= 1<<40:
		return 0
	case x.name == "sendmmsg" || x.name == "recvmmsg":
		return x.messages()
	}
	return x.result
}

// spliced is the connection at one end of a splice; nil where there is none.
func (l *listener) spliced(t *table, x *call, argument int) *conn {
	fd, file, ok := x.descriptor(argument)
	if !ok || t.fds[fd] == nil && !isSocket(file) {
		return nil
	}
	return l.at(t, fd, file)
}

func (l *listener) read(t *table, c *conn, x *call) {
	if c.not {
		l.aside(x)
		return
	}
	if len(c.writes) > 0 {
		c.finish()
	}
	l.count(c, x)
	c.dontWait = c.dontWait || strings.Contains(x.args, "MSG_DONTWAIT") || x.again
	if x.again {
		c.now.waits++
	}
	n := x.bytes()
	if n == 0 || strings.Contains(x.args, "MSG_PEEK") {
		return
	}
	if len(c.reads) == 1 {
		l.gaps = append(l.gaps, int64((x.start-c.readEnd)*1e9))
	}
	c.reads = append(c.reads, n)
	c.readEnd = x.end
	c.servers[t] = true
}

func (l *listener) write(c *conn, x *call) {
	if c.not {
		l.aside(x)
		return
	}
	l.count(c, x)
	if n := x.bytes(); n > 0 {
		if c.think < 0 && len(c.reads) > 0 {
			c.think = max(int64((x.start-c.readEnd)*1e9), 0)
		}
		c.writes = append(c.writes, n)
	}
}

// use is the connection that a call read or wrote. A descriptor that works
// though another thread has closed it belongs to another process.
func (l *listener) use(t *table, fd int, file string, x *call) *conn {
	if by := t.closed[fd]; by != 0 && by != x.thread && t.fds[fd] == nil && x.result > 0 && file == "" {
		l.strange++
		l.split = fmt.Sprintf("thread %d uses descriptor %d after thread %d has closed it: they are of different processes, and the log does not hold the fork", x.thread, fd, by)
	}
	return l.at(t, fd, file)
}

// follow listens to a log. only says which connections are conversations, by the
// number of each; nil where that is to be found out.
func follow(calls []call, only map[int]bool) *listener {
	w := newWorld()
	w.only = only
	l := &listener{world: w, between: map[int][]string{}, spoken: map[int]bool{}}
	for i := range calls {
		l.hear(&calls[i])
	}
	for _, c := range l.conns {
		if c.holders == 0 { // closed; of others the last exchange may be torn
			c.finish()
		}
	}
	return l
}

// conversations are the connections that were asked something and answered. A
// descriptor that is read and written once or twice is none.
func (w *world) conversations() map[int]bool {
	some := map[int]bool{}
	for i, c := range w.conns {
		some[i] = len(c.done) >= 2 && !c.not
	}
	return some
}
