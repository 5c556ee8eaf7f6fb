package lockwait

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/kallsyms"
	"udsbench/record"
)

// perf reads lock:contention_begin and _end through perf_event_open(2), for
// kernels that have the tracepoints and refuse eBPF. Every event is copied to
// us and summed here, which costs more and can lose events; they are counted.
type perf struct {
	tracefs  []string // where tracefs may be
	depth    int
	stacks   bool
	worker   map[uint32]bool   // threads
	whose    map[uint32]string // by process
	rings    []*ring
	match    *matcher
	lost     int64 // so far
	inWindow int64 // lost
	stop     chan struct{}
	reader   sync.WaitGroup
	mu       sync.Mutex
	selfNS   int64
	begin    format
	end      format
	inst     record.Instrument
}

func newPerf(o Options) *perf {
	p := &perf{tracefs: []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}, depth: o.Depth, stacks: !o.NoStacks}
	if p.depth == 0 {
		p.depth = fullDepth
	}
	return p
}

func (p *perf) Name() string { return "perf" }

// format says where a tracepoint's fields lie.
type format struct {
	id     uint64
	offset map[string]int
}

// readFormat reads the format file of a tracepoint (Documentation/trace/events.rst).
func readFormat(text string) (format, error) {
	f := format{offset: map[string]int{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if id, ok := strings.CutPrefix(line, "ID:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(id), 10, 32)
			if err != nil {
				return f, fmt.Errorf("tracepoint id %q", id)
			}
			f.id = n
		}
		decl, rest, ok := strings.Cut(strings.TrimPrefix(line, "field:"), ";")
		if !ok || !strings.HasPrefix(line, "field:") {
			continue
		}
		words := strings.Fields(decl)
		if len(words) == 0 {
			continue
		}
		var at int
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "offset:%d;", &at); err != nil || at < 0 || at > 4096 {
			return f, fmt.Errorf("tracepoint field %q has no offset", decl)
		}
		f.offset[strings.TrimLeft(words[len(words)-1], "*")] = at
	}
	if f.id == 0 {
		return f, errors.New("tracepoint without an id")
	}
	return f, nil
}

func (p *perf) formats() error {
	locked := false
	for _, dir := range p.tracefs {
		if _, err := os.Stat(filepath.Join(dir, "events")); err != nil {
			locked = locked || errors.Is(err, fs.ErrPermission)
			continue
		}
		for name, to := range map[string]*format{"contention_begin": &p.begin, "contention_end": &p.end} {
			b, err := os.ReadFile(filepath.Join(dir, "events/lock", name, "format"))
			if errors.Is(err, fs.ErrNotExist) {
				return errors.New("perf: this kernel has no lock:contention_begin (Linux 5.19 and later have)")
			}
			if err != nil {
				return fmt.Errorf("perf: tracefs: %w: needs root", err)
			}
			if *to, err = readFormat(string(b)); err != nil {
				return fmt.Errorf("perf: %s: %w", name, err)
			}
		}
		for _, f := range []string{"lock_addr", "flags"} {
			if _, ok := p.begin.offset[f]; !ok {
				return fmt.Errorf("perf: lock:contention_begin has no field %s here", f)
			}
		}
		if _, ok := p.end.offset["lock_addr"]; !ok {
			return errors.New("perf: lock:contention_end has no field lock_addr here")
		}
		return nil
	}
	if locked {
		return errors.New("perf: tracefs may not be read: needs root")
	}
	return errors.New("perf: tracefs is not mounted: needs mount -t tracefs nodev /sys/kernel/tracing")
}

// attrs describe both events; the stack is taken at the begin.
func (p *perf) attrs() []unix.PerfEventAttr {
	base := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unix.PERF_ATTR_SIZE_VER5), Sample: 1,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW,
		Bits:        unix.PerfBitDisabled | unix.PerfBitUseClockID | unix.PerfBitExcludeCallchainUser | unix.PerfBitExcludeCallchainKernel,
		Clockid:     unix.CLOCK_MONOTONIC, Wakeup: 1 << 30,
	}
	begin, end := base, base
	begin.Config, end.Config = p.begin.id, p.end.id
	if p.stacks {
		begin.Bits &^= unix.PerfBitExcludeCallchainKernel
		begin.Sample_max_stack = uint16(p.depth)
	}
	return []unix.PerfEventAttr{end, begin}
}

func (p *perf) Probe() error {
	if err := p.formats(); err != nil {
		return err
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	r, err := openRing(cpus[0], p.attrs())
	if err != nil {
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			return errors.New("perf: needs root or CAP_PERFMON, or kernel.perf_event_paranoid -1")
		}
		return fmt.Errorf("perf: %w", err)
	}
	r.close()
	return nil
}

func (p *perf) Start(t Target) error {
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	p.inst = record.Instrument{Name: "locks", Source: p.Name(), CPUs: len(cpus), Diagnose: debugged(), NoStacks: !p.stacks, Spinlocks: string(FindSpinlocks())}
	p.worker, p.whose = map[uint32]bool{}, map[uint32]string{}
	for _, pid := range t.PIDs {
		p.whose[uint32(pid)] = record.InWorkers
		if t.Threads != nil && !t.goroutines(pid) {
			p.whose[uint32(pid)] = record.InRuntime
			for _, tid := range t.Threads[pid] {
				p.worker[uint32(tid)] = true
			}
		}
	}
	if err := p.formats(); err != nil {
		return err
	}
	for _, cpu := range cpus {
		r, err := openRing(cpu, p.attrs())
		if err != nil {
			p.close()
			return fmt.Errorf("perf: CPU %d: %w", cpu, err)
		}
		p.rings = append(p.rings, r)
	}
	p.match = newMatcher(p.who)
	for _, r := range p.rings {
		if err := r.set(unix.PERF_EVENT_IOC_ENABLE); err != nil {
			p.close()
			return fmt.Errorf("perf: %w", err)
		}
	}
	p.stop = make(chan struct{})
	p.reader.Go(p.read)
	return nil
}

// who tells workers, the other threads of their processes, and kernel threads
// from the rest.
func (p *perf) who(pid, tid uint32) string {
	if p.worker[tid] {
		return record.InWorkers
	}
	whose, known := p.whose[pid]
	if !known {
		if pid == 0 || isKthread(pid) {
			whose = record.InKthread
		}
		p.whose[pid] = whose
	}
	return whose
}

// isKthread: kernel threads are children of kthreadd, which is process 2.
func isKthread(pid uint32) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(string(b), ')')
	f := strings.Fields(string(b[i+1:]))
	return pid == 2 || len(f) > 1 && f[1] == "2"
}

// read empties the buffers until told to stop.
func (p *perf) read() {
	runtime.LockOSThread()
	var before time.Duration // what reading took until the window opened
	for {
		select {
		case <-p.stop:
			p.mu.Lock()
			p.drain()
			p.mu.Unlock()
			return
		case <-time.After(5 * time.Millisecond):
		}
		p.mu.Lock()
		p.drain()
		switch {
		case p.match.opened == 0:
			before = threadCPU()
		case p.match.closed == 0:
			p.selfNS = int64(threadCPU() - before)
		}
		p.mu.Unlock()
	}
}

// drain empties the buffers once. Whoever calls it holds mu.
func (p *perf) drain() {
	due := uint64(monotonic())
	var events []event
	for _, r := range p.rings {
		r.drain(func(kind uint32, b []byte) {
			switch kind {
			case unix.PERF_RECORD_LOST:
				if len(b) >= 16 {
					p.lost += int64(binary.NativeEndian.Uint64(b[8:]))
				}
			case unix.PERF_RECORD_SAMPLE:
				if e, ok := p.decode(b); ok {
					e.cpu = r.cpu
					events = append(events, e)
				} else {
					p.lost++
				}
			}
		})
	}
	p.match.take(events, due)
}

func monotonic() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// decode reads a sample: pid, tid, time, call chain, raw record.
func (p *perf) decode(b []byte) (event, bool) {
	ne := binary.NativeEndian
	if len(b) < 24 {
		return event{}, false
	}
	e := event{pid: ne.Uint32(b), tid: ne.Uint32(b[4:]), time: ne.Uint64(b[8:])}
	n := ne.Uint64(b[16:])
	b = b[24:]
	if n > 1024 || uint64(len(b)) < 8*n+4 {
		return event{}, false
	}
	for i := range n {
		// Marks of a change of context are the last 4096 values.
		if a := ne.Uint64(b[8*i:]); a < ^uint64(4095) {
			e.chain = append(e.chain, a)
		}
	}
	b = b[8*n:]
	size := int(ne.Uint32(b))
	raw := b[4:]
	if size < 8 || len(raw) < size {
		return event{}, false
	}
	raw = raw[:size]
	f := p.begin
	switch uint64(ne.Uint16(raw)) {
	case p.begin.id:
		at := f.offset["flags"]
		if at+4 > size {
			return event{}, false
		}
		e.flags = ne.Uint32(raw[at:])
	case p.end.id:
		f, e.end = p.end, true
	default:
		return event{}, false
	}
	at := f.offset["lock_addr"]
	if at+8 > size {
		return event{}, false
	}
	e.lock = ne.Uint64(raw[at:])
	return e, true
}

func (p *perf) Open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drain()
	p.lost = 0 // until now, outside of the window
	p.match.opened = uint64(monotonic())
	return nil
}

func (p *perf) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.match.closed == 0 {
		p.match.closed = uint64(monotonic())
		p.drain()
		p.inWindow = p.lost
	}
	return nil
}

func (p *perf) close() {
	for _, r := range p.rings {
		r.close()
	}
	p.rings = nil
}

func (p *perf) Stop() ([]Row, error) {
	p.Close()
	for _, r := range p.rings {
		r.set(unix.PERF_EVENT_IOC_DISABLE)
	}
	close(p.stop)
	p.reader.Wait()
	p.close()
	if p.match.opened == 0 {
		return nil, fmt.Errorf("lock source %s: the window was never opened", p.Name())
	}
	p.match.take(nil, ^uint64(0))
	var names *kallsyms.Table
	var err error
	if p.stacks {
		if names, err = kallsyms.Load(); err != nil {
			p.inst.Notes = append(p.inst.Notes, "no function names: "+err.Error())
		}
	}
	var samples []sample
	atLeast := false
	for k, s := range p.match.sums {
		if names != nil {
			s.frames = kallsyms.Frames(names, p.match.chains[k])
		}
		atLeast = atLeast || len(s.addrs) >= 4096
		samples = append(samples, *s)
	}
	rows, own := rowsOf(p.Name(), samples, atLeast)
	window := int64(p.match.closed - p.match.opened)
	unfinished := p.match.unfinished + p.match.pending()
	p.inst.WindowNS, p.inst.Events, p.inst.Lost, p.inst.Blind = &window, &p.match.begins, &p.inWindow, p.Blind()
	p.inst.SelfNS, p.inst.Unfinished = &p.selfNS, &unfinished
	p.inst.Notes = append(p.inst.Notes, "every event was copied to a reader, and its CPU time is known; what the copying took of the workers' is not")
	if own > 0 {
		p.inst.Notes = append(p.inst.Notes, fmt.Sprintf("%d waits were the instrument's own and are left out", own))
	}
	if p.match.orphans > 0 {
		p.inst.Notes = append(p.inst.Notes, fmt.Sprintf("%d waits had begun before the instrument, or lost their begin, and are missing", p.match.orphans))
	}
	return rows, nil
}

func (p *perf) Blind() []string {
	var out []string
	if s := FindSpinlocks().blind(); s != "" {
		out = append(out, s)
	}
	out = append(out, blindStacks(p.stacks, p.depth, "rows have no site")...)
	return append(out,
		"waits in user space's own locks (futex)",
		"a semaphore (rwsem) that spinning got: its wait is traced only once it sleeps",
		"locks that nobody waited for, and how long locks are held",
		"softirqs and interrupts on the time of other processes; kernel threads' waits are those of the whole machine",
		bouncing)
}

func (p *perf) Instrument() record.Instrument { return p.inst }
