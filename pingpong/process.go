package pingpong

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/record"
	"udsbench/sched"
)

func init() {
	// A worker that is a process runs on the process's first thread, so that
	// its thread id is its process id, as people who attach to it expect.
	if len(os.Args) > 1 && os.Args[1] == WorkerArg {
		runtime.LockOSThread()
	}
}

// process is one worker process.
type process struct {
	spec     *Spec
	memory   *Memory
	workload *Workload
	links    []chan int // fan-in: accepted descriptors on their way to the threads whose pairs they are
	ends     struct {   // what wakes workers that nothing else would
		sync.Mutex
		wakers []func()
	}
	background sync.WaitGroup
	listener   atomic.Int32 // of a Fan, whose servers all have it

	once   sync.Once // of what the servers of the workload share, made by the first in its Setup
	shared any
	err    error
}

// WorkerMain is a worker process from its start to its end; the result is its
// exit status. It ends at once when the coordinator's end of the control pipe
// is closed, which is also how a dead coordinator is noticed.
func WorkerMain() int {
	signal.Ignore(unix.SIGPIPE) // a closed peer is EPIPE, not a death
	control := os.NewFile(ControlFD, "control")
	spec, err := ReadSpec(control)
	if err != nil {
		fmt.Fprintf(os.Stderr, "udsbench worker: no specification on descriptor %d: %v\n", ControlFD, err)
		return 1
	}
	go func() {
		control.Read(make([]byte, 1))
		os.Exit(1)
	}()
	if spec.Layout != MemoryBytes(1) {
		fmt.Fprintln(os.Stderr, "udsbench worker: the program's file has changed since its coordinator was started")
		return 1
	}
	p := &process{spec: spec}
	if p.memory, err = MapMemory(MemoryFD, spec.Slots); err != nil {
		fmt.Fprintf(os.Stderr, "udsbench worker: shared mapping: %v\n", err)
		return 1
	}
	unix.Close(MemoryFD)
	if spec.Script != nil {
		if err := useScript(spec.Cell.Workload, spec.Script); err != nil {
			fmt.Fprintf(os.Stderr, "udsbench worker: profile: %v\n", err)
			return 1
		}
	}
	if p.workload, err = Lookup(spec.Cell.Workload); err != nil {
		fmt.Fprintf(os.Stderr, "udsbench worker: %v\n", err)
		return 1
	}
	return p.main()
}

func (p *process) main() int {
	spec := p.spec
	slot := p.memory.Slot(spec.Process)
	atomic.StoreInt32(&slot.PID, int32(os.Getpid()))
	atomic.StoreInt32(&slot.GOMAXPROCS, int32(runtime.GOMAXPROCS(0)))
	if mask, err := affinity.Mask(); err == nil {
		SetList(slot.Mask[:], affinity.FormatList(mask))
	}
	if spec.Model == "goroutine" {
		gios = make([]*gio, len(spec.Workers))
		p.background.Go(p.watchPhases)
	}
	servers := 0
	for _, ws := range spec.Workers {
		if ws.Role == record.Server {
			servers++
		}
	}
	if p.workload.OneListener && p.workload.Wiring == Pairs && servers > 0 {
		p.links = make([]chan int, spec.Cell.Parallel)
		for i := range p.links {
			p.links[i] = make(chan int, 1)
		}
	}
	if len(spec.Workers) == 1 && spec.Model != "goroutine" {
		p.work(0)
	} else {
		var all sync.WaitGroup
		for i := range spec.Workers {
			all.Go(func() {
				if spec.Model != "goroutine" {
					// Never unlocked: the thread ends with its worker, mask and all.
					runtime.LockOSThread()
				}
				p.work(i)
			})
		}
		all.Wait()
	}
	if p.memory.Control().awaitPhase(PhaseLeft) == PhaseAbort {
		return 1
	}
	for closeDrops && spec.Cell.Transport == "unix-dgram" && !p.memory.Control().over() {
		time.Sleep(time.Millisecond)
	}
	p.background.Wait()
	return 0
}

// watchPhases takes the snapshots of a process of goroutines, which have no
// usage of their own.
func (p *process) watchPhases() {
	runtime.LockOSThread()
	ctl, slot := p.memory.Control(), p.memory.Slot(p.spec.Process)
	take := func(s *Snapshot) {
		s.TimeNS = nanotime()
		unix.Getrusage(unix.RUSAGE_SELF, &s.Usage)
		atomic.StoreUint32(&s.Taken, 1)
	}
	if p.spec.Ops == 0 {
		if ctl.awaitPhase(PhaseWindow) == PhaseWindow {
			take(&slot.Open)
		}
		if ctl.awaitPhase(PhaseCool) == PhaseCool && slot.Open.Taken != 0 {
			take(&slot.Close)
		}
		return
	}
	if ctl.awaitPhase(PhaseWarmup) == PhaseWarmup {
		take(&slot.Open)
	}
	if ctl.awaitPhase(PhaseStop) < PhaseAbort && slot.Open.Taken != 0 {
		take(&slot.Close)
	}
}

// atEnd has an idle thread of the process call f when all clients have left.
func (p *process) atEnd(f func()) {
	p.ends.Lock()
	defer p.ends.Unlock()
	p.ends.wakers = append(p.ends.wakers, f)
	if len(p.ends.wakers) > 1 {
		return
	}
	p.background.Go(func() {
		p.memory.Control().awaitPhase(PhaseLeft)
		p.ends.Lock()
		defer p.ends.Unlock()
		for _, f := range p.ends.wakers {
			f()
		}
	})
}

// wakeByShutdown shuts a socket down at the end. A blocked AF_UNIX datagram
// reader is woken neither by its peer's close nor by its shutdown, only by a
// shutdown of its own socket; what is queued is read first. A blocked accept is
// woken in the same way.
func (p *process) wakeByShutdown(fd int) {
	p.atEnd(func() {
		for !drained(fd) && !p.memory.Control().over() {
			time.Sleep(time.Millisecond)
		}
		unix.Shutdown(fd, unix.SHUT_RDWR) // ENOTCONN on an unconnected one, which is woken all the same
	})
}

// wakeAcceptor shuts a listener down at the end, until everyone has left: one
// shutdown may wake one of those who accept.
func (p *process) wakeAcceptor(fd int) {
	p.atEnd(func() {
		unix.Shutdown(fd, unix.SHUT_RDWR)
		for !shutdownWakesAll && !p.memory.Control().over() {
			time.Sleep(time.Millisecond)
			unix.Shutdown(fd, unix.SHUT_RDWR)
		}
	})
}

// work is one worker: pin, gate 1, connect, gate 2, the loop, leave.
func (p *process) work(i int) {
	ws := &p.spec.Workers[i]
	ctl, slot := p.memory.Control(), p.memory.Slot(ws.Slot)
	w, err := p.prepare(i)
	if err != nil {
		fail(ctl, slot, failSetup, 0, err)
		return
	}
	listener, err := p.listen(ws, slot)
	if err != nil {
		fail(ctl, slot, failSetup, 0, err)
		return
	}
	ctl.reach(slot, Pinned)
	if ctl.awaitPhase(PhaseConnect) == PhaseAbort {
		return
	}
	end, err := p.connect(ws, slot, listener)
	if err != nil {
		fail(ctl, slot, failSetup, 0, err)
		return
	}
	if err := p.attach(i, w, end); err != nil {
		fail(ctl, slot, failSetup, 0, err)
		return
	}
	if p.workload.Setup != nil {
		seat := &Seat{Worker: w, Cell: p.spec.Cell, Role: ws.Role, Index: ws.Index, Dir: p.spec.Dir, Seed: p.spec.Seed, spec: ws, process: p}
		if err := p.workload.Setup(seat); err != nil {
			fail(ctl, slot, failSetup, 0, err)
			return
		}
	}
	step := p.workload.Server
	if ws.Role == record.Client {
		step = p.workload.Client
	}
	// Last of all before gate 2: the way there is not under test.
	nice := p.spec.Cell.NiceServer
	if ws.Role == record.Client {
		nice = p.spec.Cell.NiceClient
	}
	if err := Tell(p.spec.Cell.Policy, nice); err != nil {
		fail(ctl, slot, failSetup, 0, err)
		return
	}
	ctl.reach(slot, Ready)
	if ctl.awaitPhase(PhaseWarmup) == PhaseAbort {
		return
	}

	code := w.run(step)

	phase := atomicPhase(ctl)
	over := phase >= PhaseStop && !w.first && p.ended(code)
	if code != 0 && !over {
		fail(ctl, slot, code, slot.Ops, nil)
		return
	}
	if err := p.stillPinned(ws, slot); err != nil {
		fail(ctl, slot, failSetup, slot.Ops, err)
		return
	}
	slot.EndNS = slot.Close.TimeNS
	if w.limit != 0 {
		ctl.reach(slot, Finished)
		if ctl.awaitPhase(PhaseStop) == PhaseAbort {
			return
		}
	}
	slot.Migrations1 = migrations()
	p.leave(ws, end)
	if ws.Role == record.Client {
		ctl.reach(slot, Gone)
	}
	ctl.reach(slot, Done)
}

// ended reports whether a code says no more than that the other side has left.
func (p *process) ended(code uintptr) bool {
	switch syscall.Errno(code) {
	case syscall.Errno(failEOF), unix.EPIPE, unix.ECONNRESET:
		return true
	case unix.ECONNREFUSED, unix.ENOTCONN, unix.EDESTADDRREQ:
		// What a datagram socket answers whose receiver has been closed.
		return p.spec.Cell.Transport == "unix-dgram"
	}
	return false
}

// stillPinned holds that a worker that was pinned has stayed so: masks can be
// changed from outside, by a cpuset or by hand.
func (p *process) stillPinned(ws *WorkerSpec, slot *Slot) error {
	if ws.CPU < 0 || p.spec.Model == "goroutine" {
		return nil
	}
	mask, err := affinity.Mask()
	if err != nil {
		return err
	}
	if len(mask) != 1 || mask[0] != ws.CPU {
		return fmt.Errorf("it was pinned to CPU %d and its mask is %s now: somebody changed it during the run", ws.CPU, affinity.FormatList(mask))
	}
	if seen := int(slot.CPUSeen); seen >= 0 && seen != ws.CPU {
		return fmt.Errorf("it was pinned to CPU %d and ran on CPU %d when the window closed: somebody moved it during the run", ws.CPU, seen)
	}
	return nil
}

// Tell gives the calling thread a policy and a nice value, and reads both back.
// InheritPolicy with a nice value keeps the policy that it has.
func Tell(text string, nice int) (err error) {
	if text == InheritPolicy && nice == 0 {
		return nil
	}
	var policy sched.Policy
	if text == InheritPolicy {
		policy, _, err = sched.Current(0)
		policy.Slice = 0 // the kernel's own: to ask for it would keep it from following the kernel's
	} else {
		policy, err = sched.ParsePolicy(text)
	}
	if err != nil {
		return err
	}
	return sched.Apply(policy, nice)
}

// prepare pins the worker and makes its memory where it now runs.
func (p *process) prepare(i int) (*Worker, error) {
	spec, ws := p.spec, &p.spec.Workers[i]
	slot := p.memory.Slot(ws.Slot)
	goroutine := spec.Model == "goroutine"
	if !goroutine && ws.CPU >= 0 {
		if err := affinity.Pin([]int{ws.CPU}); err != nil {
			return nil, err
		}
		if cpu, err := affinity.CPU(); err == nil && cpu != ws.CPU {
			return nil, fmt.Errorf("pinned to CPU %d but running on CPU %d", ws.CPU, cpu)
		}
	}
	touch(unsafe.Pointer(slot), slotBytes)
	slot.PID = int32(os.Getpid())
	slot.Pair, slot.CPUSeen, slot.ConnectNS = -1, -1, -1
	slot.LatMin = 1<<64 - 1
	slot.Migrations0, slot.Migrations1 = -1, -1

	bytes := uintptr(max(spec.Cell.Request, spec.Cell.Response, 8))
	size := (unsafe.Sizeof(Worker{})+127)&^127 + bytes
	mem, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("buffer of %d bytes: %w", size, err)
	}
	touch(unsafe.Pointer(&mem[0]), size)
	w := (*Worker)(unsafe.Pointer(&mem[0]))
	*w = Worker{
		ctl: p.memory.Control(), slot: slot,
		buf:     unsafe.Pointer(&mem[size-bytes]),
		Request: uintptr(spec.Cell.Request), Response: uintptr(spec.Cell.Response),
		writes:    unix.SYS_WRITE,
		stream:    parts(spec.Cell.Transport),
		retryFull: spec.Cell.Transport == "unix-dgram",
		first:     ws.Role == record.Client,
		idle:      ws.Role == record.Server && p.workload.IdleServers,
		gio:       -1, schedFD: -1,
		counting: spec.Ops != 0,
		clock:    uint32(spec.Clock.Kind), mult: spec.Clock.Mult, every: spec.Clock.Every,
		random: (spec.Seed+uint64(ws.Slot)+1)*0x9E3779B97F4A7C15 | 1,
	}
	if spec.Cell.Transport == "unix-seqpacket" && recordFlag != 0 {
		w.writes, w.flags = unix.SYS_SENDTO, recordFlag
	}
	w.timing = p.timing(ws.Role)
	if w.every != 0 {
		w.rewind()
	}
	if ws.Role == p.workload.Counts() || ws.Role == record.Client {
		w.limit = spec.Ops
		if ws.Role == record.Server {
			w.limit *= uint64(spec.Cell.Parallel / p.workload.ServersOf(spec.Cell))
		}
	}
	if interval := Interval(spec.Cell); interval > 0 && ws.Role == record.Client {
		// Clients start in turn, not all at once.
		w.interval = interval
		w.next = w.interval * int64(ws.Index) / int64(spec.Cell.Parallel)
		fineTimers()
	}
	if goroutine {
		w.gio = int32(i)
		return w, nil
	}
	mask, err := affinity.Mask()
	if err != nil {
		return nil, err
	}
	SetList(slot.Mask[:], affinity.FormatList(mask))
	w.schedFD = openSchedstat(slot)
	slot.Migrations0 = migrations()
	atomic.StoreInt32(&slot.TID, int32(threadID()))
	return w, nil
}

// timing says how a role times. Where a reply comes, the client times round
// trips; where none does, the delay is taken from a time in the message, where
// it has room for one and the transport keeps messages whole.
func (p *process) timing(role string) uint32 {
	switch {
	case p.spec.Clock.Kind == clockNone:
		return timeNothing
	case p.workload.Operation != Message:
		switch {
		case role != record.Client:
			return timeNothing
		case p.workload.Times != "":
			return timeOwn
		case p.spec.Cell.Params["rate"] != "":
			return timeOpen
		case p.spec.Clock.Every != 0:
			return timeSingle
		}
		return timeChained
	case StampsUnavailable(p.spec.Cell) != "":
		return timeNothing
	case role == p.workload.receiver():
		return stampRecv
	}
	return stampSend
}

// StampsUnavailable says why the messages of a cell without replies cannot
// carry a time of sending; "" where they can.
func StampsUnavailable(c record.Cell) string {
	whole := 4096 // well under half a send buffer (unix_stream_sendmsg splits above that)
	if c.Transport == "pipe" {
		whole = pipeBuf
	}
	w, err := Lookup(c.Workload)
	switch {
	case err != nil:
		return err.Error()
	case c.Request < 8:
		return fmt.Sprintf("a message of %d bytes has no room for a time stamp of 8", c.Request)
	case w.Wiring != Shared:
		return ""
	case w.ReadersLeave && c.Transport == "tcp" && c.Parallel > 1:
		return "readers that share a TCP connection can part a message between them"
	case w.ReadersLeave && fillsUp && c.Transport != "pipe" && parts(c.Transport) && c.Parallel > 1:
		return "readers that share a connection can part a message between them where it met a full buffer"
	case w.ReadersLeave && isStream(c.Transport) && c.Request > whole && c.Parallel > 1:
		return fmt.Sprintf("readers that share a stream can part messages over %d bytes between them", whole)
	case c.Transport == "tcp" && c.Parallel > 1:
		return "writers that share a TCP connection can be interleaved inside a message"
	case isStream(c.Transport) && c.Request > whole && c.Parallel > 1:
		return fmt.Sprintf("writers of messages over %d bytes can be interleaved inside one", whole)
	}
	return ""
}

// listen makes what a server meets its clients at, before gate 1: nil, a
// listener or a bound datagram socket.
func (p *process) listen(ws *WorkerSpec, slot *Slot) (*int, error) {
	c := p.spec.Cell
	if ws.Role != record.Server || ws.End != nil || p.workload.Wiring == Alone {
		return nil, nil
	}
	if c.Transport == "unix-dgram" {
		fd, err := bind(c, p.spec.Dir, serverName(ws.Index))
		return &fd, err
	}
	if p.workload.OneListener && ws.Index != 0 {
		return nil, nil
	}
	backlog := Backlog(c)
	fd, port, err := listen(c, p.spec.Dir, serverName(ws.Index), backlog)
	if err == nil && number(c, "backlog") != 0 {
		slot.Effective[effectiveBacklog] = backlogOf(fd, backlog)
	}
	atomic.StoreInt32(&slot.Port, int32(port))
	p.listener.Store(int32(fd))
	return &fd, err
}

func serverName(index int) string { return fmt.Sprint("s", index) }

// connect makes the worker's end of its connection and exchanges the index.
func (p *process) connect(ws *WorkerSpec, slot *Slot, listener *int) (End, error) {
	c := p.spec.Cell
	switch p.workload.Wiring {
	case Self:
		a, b, err := openPair(c.Transport)
		return End{R: b.R, W: a.W}, err
	case Alone:
		return End{-1, -1}, nil
	case Fan:
		if ws.Role == record.Server {
			// Of its own, so that each goroutine can have it in the poller.
			fd, err := unix.FcntlInt(uintptr(p.listener.Load()), unix.F_DUPFD_CLOEXEC, 0)
			return End{fd, fd}, os.NewSyscallError("fcntl", err)
		}
		if p.workload.Unconnected {
			return End{-1, -1}, nil
		}
	}
	end, err := p.meet(ws, slot, listener)
	if err != nil || p.workload.Wiring != Pairs {
		return end, err
	}
	if ws.Role == record.Client {
		slot.Pair = int32(ws.Index)
		return end, sendIndex(end.W, ws.Index)
	}
	if !p.workload.OneListener { // there the acceptor has read it
		pair, err := receiveIndex(end.R, c.Transport == "unix-dgram" && c.Address != "socketpair")
		if err != nil {
			return end, err
		}
		slot.Pair = int32(pair)
	}
	if int(slot.Pair) != ws.Index {
		return end, fmt.Errorf("server %d got the connection of client %d", ws.Index, slot.Pair)
	}
	return end, nil
}

func (p *process) meet(ws *WorkerSpec, slot *Slot, listener *int) (End, error) {
	c := p.spec.Cell
	switch {
	case ws.End != nil:
		return *ws.End, nil
	case ws.Role == record.Client:
		return p.dial(ws, slot)
	case c.Transport == "unix-dgram":
		return End{*listener, *listener}, nil
	case p.workload.OneListener:
		if listener != nil {
			go p.acceptAll(*listener, slot)
		}
		fd, ok := <-p.links[ws.Index]
		if !ok {
			return End{}, errors.New("the acceptor failed")
		}
		slot.Pair = int32(ws.Index)
		return End{fd, fd}, nil
	}
	fd, err := accept(*listener)
	if err != nil {
		return End{}, err
	}
	unix.Close(*listener)
	setNoDelay(c.Transport, fd)
	return End{fd, fd}, nil
}

// dial connects a client and times connect(2) alone: the socket is made before.
// Where a full backlog refuses instead of making wait, the time is until it was
// let in.
func (p *process) dial(ws *WorkerSpec, slot *Slot) (End, error) {
	c := p.spec.Cell
	var fd int
	var err error
	if c.Transport == "unix-dgram" && p.workload.Wiring == Pairs {
		fd, err = bind(c, p.spec.Dir, fmt.Sprint("c", ws.Index)) // so that the server can connect to it
	} else {
		fd, err = newSocket(c)
	}
	if err != nil {
		return End{}, err
	}
	if p.workload.Unconnected {
		return End{fd, fd}, nil
	}
	sa := p.server(ws)
	t := nanotime()
	for err = connect(fd, sa); refusedWhenFull(c.Transport, err) && atomicPhase(p.memory.Control()) < PhaseAbort; err = connect(fd, sa) {
		slot.Errors[countECONNREFUSED]++
		time.Sleep(100 * time.Microsecond)
	}
	slot.ConnectNS = nanotime() - t
	return End{fd, fd}, err
}

// server is the name of the server that a client meets.
func (p *process) server(ws *WorkerSpec) unix.Sockaddr {
	name := 0
	if !p.workload.OneListener && p.workload.Wiring == Pairs {
		name = ws.Index
	}
	port := atomic.LoadInt32(&p.memory.Slot(ws.Peer).Port)
	return sockaddr(p.spec.Cell, p.spec.Dir, serverName(name), int(port))
}

// acceptAll accepts the connections of all clients, in whatever order they
// come, and hands each to the thread whose pair it is.
func (p *process) acceptAll(listener int, slot *Slot) {
	err := func() error {
		taken := make([]bool, len(p.links))
		for range p.links {
			fd, err := accept(listener)
			if err != nil {
				return err
			}
			setNoDelay(p.spec.Cell.Transport, fd)
			pair, err := receiveIndex(fd, false)
			if err != nil {
				return err
			}
			if pair < 0 || pair >= len(p.links) || taken[pair] {
				return fmt.Errorf("a connection says that it is of client %d", pair)
			}
			taken[pair] = true
			p.links[pair] <- fd
		}
		return nil
	}()
	unix.Close(listener)
	if err != nil {
		fail(p.memory.Control(), slot, failSetup, 0, err)
	}
}

// attach gives the end to the worker.
func (p *process) attach(i int, w *Worker, end End) (err error) {
	w.rfd, w.wfd = uintptr(end.R), uintptr(end.W)
	if w.gio >= 0 && end.R >= 0 {
		gios[i], err = newGio(end, p.spec.Cell.Transport == "unix-dgram", w.ctl, w.slot)
	}
	if p.spec.Workers[i].Role == record.Server && p.spec.Cell.Transport == "unix-dgram" {
		p.wakeByShutdown(end.R)
	}
	return err
}

// leave closes what the worker wrote to, so that its reader sees the end.
func (p *process) leave(ws *WorkerSpec, end End) {
	if end.W < 0 {
		return
	}
	if p.spec.Cell.Transport == "pipe" || p.workload.Wiring == Shared {
		// Writers share an open connection: a shutdown by one would end it for
		// all; it ends when the last copy of the descriptor is closed.
		end.Close()
		return
	}
	unix.Shutdown(end.W, unix.SHUT_WR)
}

// fail puts the error into the worker's slot and rings the bell.
func fail(ctl *Control, slot *Slot, code uintptr, op uint64, err error) {
	if !atomic.CompareAndSwapUint32(&slot.Fail, 0, 1) {
		return
	}
	slot.FailOp = op
	var errno syscall.Errno
	switch {
	case err != nil:
		SetText(slot.What[:], err.Error())
		if errors.As(err, &errno) {
			slot.Errno = uint32(errno)
		}
	case code == failEOF:
		SetText(slot.What[:], "end of file before stop: the other side has gone")
	case code == failShort:
		SetText(slot.What[:], "a message came or went short")
	case code < failEOF:
		slot.Errno = uint32(code)
		errno = syscall.Errno(code)
		SetText(slot.What[:], unix.ErrnoName(errno)+": "+errno.Error())
	}
	// One that ends the run is counted too, where it was not when it was met.
	if i := slices.Index(errorNames[:], unix.ErrnoName(errno)); i >= 0 && slot.Errors[i] == 0 {
		slot.Errors[i] = 1
	}
	atomic.StoreUint32(&slot.Fail, 2)
	ctl.reach(slot, AnyFailed)
}

// Failure returns what the worker's slot says of its failure; nil for none.
func (s *Slot) Failure(role string, worker int) *record.Error {
	if atomic.LoadUint32(&s.Fail) != 2 {
		return nil
	}
	e := &record.Error{Worker: worker, Role: role, Op: s.FailOp, What: Text(s.What[:])}
	if s.Errno != 0 {
		e.Errno = unix.ErrnoName(syscall.Errno(s.Errno))
	}
	return e
}

// touch writes a zero to each page, so that nothing faults in the window.
func touch(p unsafe.Pointer, n uintptr) {
	for i := uintptr(0); i < n; i += pageSize {
		*(*byte)(unsafe.Add(p, i)) = 0
	}
}
