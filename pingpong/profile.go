package pingpong

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/profile"
	"udsbench/record"
)

// ProfilePrefix begins the name of a workload that plays a profile:
// profile:select-key, or profile:./my.profile.
const ProfilePrefix = "profile:"

// played are the profiles that this process has looked up.
var played sync.Map // name → *Workload

// lookupProfile makes a workload of a profile. In a worker process the text
// comes with the specification and is there already.
func lookupProfile(name string) (*Workload, error) {
	if w, ok := played.Load(name); ok {
		return w.(*Workload), nil
	}
	p, err := profile.Load(strings.TrimPrefix(name, ProfilePrefix))
	if err != nil {
		return nil, err
	}
	w := profileWorkload(name, p)
	played.Store(name, w)
	return w, nil
}

// useScript has the worker play the text that the coordinator read, whatever
// has become of the file.
func useScript(name string, text []byte) error {
	p, err := profile.Parse(string(text))
	if err != nil {
		return err
	}
	played.Store(name, profileWorkload(name, p))
	return nil
}

// A profile is played as fan-in is: one server process with a thread a
// connection, clients with one request outstanding. What is asked for, how it is
// read, what the server does before it answers and what it writes comes from
// the profile.
func profileWorkload(name string, p *profile.Profile) *Workload {
	request := sizeOf(p.RequestBytes())
	response := sizeOf(p.ResponseBytes())
	w := &Workload{
		Name:     name,
		Isolates: "nothing: the socket as a real server uses it. " + p.Description,
		Twin:     name + " --transport tcp",
		Expect:   "what a finer socket lock gives to such a server, beside its own work and its own lock",
		Stop:     "clients leave after a whole exchange and close; server threads read the end of file",
		Nulls:    nil,
		Params: []Param{
			{Name: "profile", Default: p.Hash(), Values: []string{p.Hash()}, Help: "names the profile's content, so that a changed file is another cell"},
			{Name: "work-clock", Default: p.Clock.String(), Help: "the server's own time calls in each exchange: N:vdso, N:syscall or 0",
				Check: func(v string) error { _, err := profile.ParseClock(v); return err }},
			{Name: "lock", Default: p.Lock.String(), Help: "lock of the server process, taken once in each exchange: none, futex:NS or spin:NS held",
				Check: func(v string) error { _, err := profile.ParseLock(v); return err }},
			{Name: "io", Default: p.IO, Values: []string{profile.Block, profile.Poll}, Help: "how the server waits for a request"},
			{Name: "client-io", Default: p.ClientIO, Values: []string{profile.Block, profile.Poll}, Help: "how a client waits for the reply"},
			{Name: "work", Default: "profile", Values: []string{"profile"}, Min: 0, Max: 1e9, Help: "ns of the server's CPU work in each exchange, in place of the profile's"},
		},

		Wiring:     Pairs,
		Operation:  RoundTrip,
		Request:    request,
		Response:   response,
		Transports: []string{"unix-stream", "tcp"},
		NoTransport: map[string]string{
			"unix-seqpacket": "the server reads a message in parts, which a seqpacket socket does not give; use unix-stream",
			"unix-dgram":     "the server reads a message in parts, which a datagram socket does not give; use unix-stream",
			"pipe":           "a pipe has no listener to meet at; use unix-stream",
		},
		Addresses:        []string{"path", "abstract", "inet", "inet6"},
		OneServerProcess: true,
		OneListener:      true,
		ServerModel:      "thread",
		Spins:            true,
		Script:           []byte(p.Format()),
		Client:           playClient,
		Server:           playServer,
		Setup:            func(s *Seat) error { return setupScript(s, p) },
	}
	w.Check = func(c record.Cell) error {
		if c.Request != request || c.Response != response {
			return fmt.Errorf("request %d, response %d: the sizes of %s are its own; leave --request and --response out", c.Request, c.Response, name)
		}
		if c.ServerModel == "goroutine" && c.Params["lock"] != profile.NoLock {
			return fmt.Errorf("lock %s: goroutines that wait for it would hold up the thread that its holder needs; use --server-model thread", c.Params["lock"])
		}
		return nil
	}
	w.complete()
	return w
}

// sizeOf is a mean size as the cell shows it.
func sizeOf(mean float64) int { return min(int(math.Round(mean)), maxStream) }

// WorkClock is the clock that a profile's server calls as its work; the error
// says why there is none.
func WorkClock(c record.Cell) (Clock, error) {
	clock, err := profile.ParseClock(c.Params["work-clock"])
	switch {
	case err != nil:
		return Clock{}, errors.New(c.Workload + " calls no clock as its work")
	case clock.Calls == 0:
		return Clock{}, errors.New("no clock is called (--work-clock 0)")
	case clock.Syscall:
		return Clock{Kind: clockSyscall}, nil
	}
	return Clock{Kind: clockVDSO}, nil
}

// script is a profile laid out for the timed loop.
type script struct {
	buf, length  uintptr
	header, read uintptr
	poll         bool // this role does not block in reads
	clockCalls   uint64
	clockSyscall bool
	lock         *uint32 // of the server process; nil none
	spins        bool    // its waiters do not sleep
	hold         uint64  // turns of spin
	weight       uint64  // of all exchanges; 0: in order
	count        uint64
	at, left     uint64 // the exchange in order, and how often it is still to come
	random       uint64 // the same on both sides of a connection
	own          uint64 // the server's
	pollFD       unix.PollFd
}

// scene is one exchange; scenes lie behind the script.
type scene struct {
	weight, repeat      uint64
	requests, responses uint64
	request, response   [profile.MaxWrites]dist
	work                dist
}

// dist is a distribution: n values, equally likely.
type dist struct {
	n uint64
	v [profile.MaxValues]uint64
}

func layDist(d profile.Dist, unit float64) (l dist) {
	l.n = uint64(len(d))
	for i, v := range d {
		l.v[i] = uint64(math.Round(float64(v) * unit))
	}
	return l
}

func setupScript(s *Seat, p *profile.Profile) error {
	mem, err := s.Memory(unsafe.Sizeof(script{}) + uintptr(len(p.Exchanges))*unsafe.Sizeof(scene{}))
	if err != nil {
		return err
	}
	buf, err := s.Bytes(p.Buffer())
	if err != nil {
		return err
	}
	t := (*script)(mem)
	s.state, s.buf = mem, unsafe.Pointer(&buf[0])
	*t = script{
		buf: address(buf), length: uintptr(len(buf)), header: uintptr(p.Header), read: uintptr(p.ClientRead),
		count:  uint64(len(p.Exchanges)),
		random: (s.Seed+uint64(s.Index)+1)*0x9E3779B97F4A7C15 | 1,
		own:    (s.Seed+uint64(s.Index)+1)*0xD1B54A32D192ED03 | 1,
		pollFD: unix.PollFd{Fd: int32(s.rfd), Events: unix.POLLIN},
	}
	for i, x := range p.Exchanges {
		c := t.scene(uint64(i))
		c.weight, c.repeat = uint64(x.Weight), uint64(x.Repeat)
		c.requests, c.responses = uint64(len(x.Request)), uint64(len(x.Response))
		for j, d := range x.Request {
			c.request[j] = layDist(d, 1)
		}
		for j, d := range x.Response {
			c.response[j] = layDist(d, 1)
		}
		work := x.Work
		if v := s.Param("work"); v != "profile" {
			work = profile.Dist{int64(s.Number("work"))}
		}
		c.work = layDist(work, s.process.spec.SpinPerUS/1e3)
		t.weight += c.weight
	}
	t.left = t.scene(0).repeat
	if s.Role == record.Client {
		t.poll = s.Param("client-io") == profile.Poll
		return nil
	}
	t.poll = s.Param("io") == profile.Poll
	clock, err := profile.ParseClock(s.Param("work-clock"))
	if err != nil {
		return err
	}
	t.clockCalls, t.clockSyscall = uint64(clock.Calls), clock.Syscall
	lock, err := profile.ParseLock(s.Param("lock"))
	if err != nil || lock.Kind == profile.NoLock {
		return err
	}
	word, err := s.Together(func() (any, error) { return s.Memory(pageSize) })
	if err != nil {
		return err
	}
	t.lock = (*uint32)(word.(unsafe.Pointer))
	t.spins = lock.Kind == profile.Spin
	t.hold = uint64(float64(lock.HoldNS) * s.process.spec.SpinPerUS / 1e3)
	return nil
}

//go:nosplit
//go:norace
func (t *script) scene(i uint64) *scene {
	return (*scene)(unsafe.Add(unsafe.Pointer(t), unsafe.Sizeof(script{})+uintptr(i)*unsafe.Sizeof(scene{})))
}

// random64 steps a generator (xorshift64, Marsaglia 2003).
//
//go:nosplit
//go:norace
func random64(state *uint64) uint64 {
	x := *state
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*state = x
	return x * 0x9E3779B97F4A7C15
}

// draw gives a value of d; a constant takes nothing from the generator.
//
//go:nosplit
//go:norace
func (d *dist) draw(state *uint64) uint64 {
	if d.n == 1 {
		return d.v[0]
	}
	return d.v[(random64(state)>>32)*d.n>>32]
}

// next is the exchange that both sides play now.
//
//go:nosplit
//go:norace
func (t *script) next() *scene {
	if t.weight != 0 {
		r, _ := bits.Mul64(random64(&t.random), t.weight)
		for i := uint64(0); ; i++ {
			c := t.scene(i)
			if r < c.weight {
				return c
			}
			r -= c.weight
		}
	}
	if t.left == 0 {
		if t.at++; t.at == t.count {
			t.at = 0
		}
		t.left = t.scene(t.at).repeat
	}
	t.left--
	return t.scene(t.at)
}

// some is one read of at most n bytes to p, waited for as the profile does.
//
//go:nosplit
//go:norace
func (w *Worker) some(t *script, p, n uintptr) (uintptr, uintptr) {
	if !t.poll || w.gio >= 0 {
		return w.receive(unix.SYS_READ, w.rfd, p, n, 0)
	}
	for {
		r, e := w.sys(unix.SYS_RECVFROM, w.rfd, p, n, unix.MSG_DONTWAIT, 0)
		if e == uintptr(unix.EAGAIN) {
			w.slot.Errors[countEAGAIN]++
			_, e = w.sys(sysPoll, uintptr(unsafe.Pointer(&t.pollFD)), 1, pollForever, 0, 0)
			if e == 0 {
				continue
			}
		}
		if e != uintptr(unix.EINTR) {
			return r, e
		}
		w.slot.Errors[countEINTR]++
	}
}

// whole reads n bytes, in reads of at most each.
//
//go:nosplit
//go:norace
func (w *Worker) whole(t *script, n, each uintptr) uintptr {
	for done := uintptr(0); done < n; {
		r, e := w.some(t, t.buf+done, min(n-done, each))
		switch {
		case e != 0:
			return e
		case r == 0 && done == 0:
			return failEOF
		case r == 0:
			return failShort
		}
		done += r
	}
	return 0
}

//go:nosplit
//go:norace
func playClient(w *Worker) uintptr {
	t := (*script)(w.state)
	c := t.next()
	bytes := uint64(0)
	for i := range c.requests {
		n := c.request[i].draw(&t.random)
		bytes += n
		if e := w.Send(uintptr(n)); e != 0 {
			return e
		}
	}
	reply := uint64(0)
	for i := range c.responses {
		reply += c.response[i].draw(&t.random)
	}
	w.slot.Bytes += bytes + reply
	return w.whole(t, uintptr(reply), t.read)
}

//go:nosplit
//go:norace
func playServer(w *Worker) uintptr {
	t := (*script)(w.state)
	c := t.next()
	n := uint64(0)
	for i := range c.requests {
		n += c.request[i].draw(&t.random)
	}
	size, first := uintptr(n), uintptr(0)
	if t.header != 0 && t.header < size {
		first = t.header
		if e := w.whole(t, first, first); e != 0 {
			return e
		}
	}
	if e := w.whole(t, size-first, size); e != 0 {
		if first != 0 && e == failEOF {
			return failShort
		}
		return e
	}
	for range t.clockCalls {
		if t.clockSyscall {
			var ts unix.Timespec
			rawClock(&ts)
		} else {
			nanotime()
		}
	}
	if t.lock != nil {
		t.acquire(w)
		spin(t.hold)
		t.release()
	}
	if n := c.work.draw(&t.own); n != 0 {
		spin(n)
	}
	for i := range c.responses {
		if e := w.Send(uintptr(c.response[i].draw(&t.random))); e != 0 {
			return e
		}
	}
	return 0
}

// acquire takes the server's own lock: 0 free, 1 held, 2 held and waited for
// (Drepper, "Futexes Are Tricky").
//
//go:nosplit
//go:norace
func (t *script) acquire(w *Worker) {
	if atomic.CompareAndSwapUint32(t.lock, 0, 1) {
		return
	}
	w.slot.LockWaits++
	for {
		if t.spins {
			if atomic.LoadUint32(t.lock) == 0 && atomic.CompareAndSwapUint32(t.lock, 0, 1) {
				return
			}
			continue
		}
		if atomic.SwapUint32(t.lock, 2) == 0 {
			return
		}
		rawWaitWord(t.lock, 2)
	}
}

//go:nosplit
//go:norace
func (t *script) release() {
	if atomic.SwapUint32(t.lock, 0) == 2 {
		rawWakeOne(t.lock)
	}
}
