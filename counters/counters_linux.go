package counters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// kind is an event as perf_event_open(2) wants it.
type kind struct {
	Event
	sort, config uint64
}

func cache(level, op, result uint64) uint64 { return level | op<<8 | result<<16 }

// kinds are counted where the machine has them. There is no generic event for
// a line that another core had modified; misses of the last level hold those
// that crossed a package.
var kinds = []kind{
	{Event{"cycles", true}, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	{Event{"instructions", true}, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	{Event{"cache-references", true}, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES},
	{Event{"cache-misses", true}, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
	{Event{"L1-dcache-load-misses", true}, unix.PERF_TYPE_HW_CACHE, cache(unix.PERF_COUNT_HW_CACHE_L1D, unix.PERF_COUNT_HW_CACHE_OP_READ, unix.PERF_COUNT_HW_CACHE_RESULT_MISS)},
	{Event{"node-load-misses", true}, unix.PERF_TYPE_HW_CACHE, cache(unix.PERF_COUNT_HW_CACHE_NODE, unix.PERF_COUNT_HW_CACHE_OP_READ, unix.PERF_COUNT_HW_CACHE_RESULT_MISS)},
	{Event{"branch-misses", true}, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
	{Event{"task-clock", false}, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK},
	{Event{"context-switches", false}, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES},
	{Event{"cpu-migrations", false}, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS},
	{Event{"page-faults", false}, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
}

// Set is what counts for some threads. The calls come in this order: Start,
// Open and Close as the window opens and closes, Stop.
type Set struct {
	threads []Thread
	kinds   []kind  // that this machine has
	fds     [][]int // of each thread, by kind
	ops     []uint64
	opened  time.Time
	window  time.Duration
}

// Start makes the counters of all threads, switched off. Events that this
// machine has not are named with the reason; the error is why there is none at
// all, and what would grant it.
func Start(threads []Thread) (*Set, map[string]string, error) {
	s := &Set{threads: threads, ops: make([]uint64, len(threads))}
	absent := map[string]string{}
	for _, k := range kinds {
		fd, err := open(k, 0)
		if err != nil {
			absent[k.Name] = refused(k, err)
			continue
		}
		unix.Close(fd)
		s.kinds = append(s.kinds, k)
	}
	if len(s.kinds) == 0 {
		return nil, nil, errors.New(absent[kinds[len(kinds)-1].Name])
	}
	for _, t := range threads {
		var fds []int
		for _, k := range s.kinds {
			fd, err := open(k, t.TID)
			if err != nil {
				s.fds = append(s.fds, fds)
				s.close()
				if errors.Is(err, unix.EMFILE) {
					return nil, nil, fmt.Errorf("%d threads with %d events need as many open files: raise the limit (ulimit -n %d)", len(threads), len(s.kinds), len(threads)*len(s.kinds)+100)
				}
				return nil, nil, fmt.Errorf("%s of thread %d: %s", k.Name, t.TID, refused(k, err))
			}
			fds = append(fds, fd)
		}
		s.fds = append(s.fds, fds)
	}
	return s, absent, nil
}

func open(k kind, tid int) (int, error) {
	attr := unix.PerfEventAttr{Type: uint32(k.sort), Config: k.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitDisabled, Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	return unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// refused says what was missing.
func refused(k kind, err error) string {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "the kernel's part may not be counted: needs CAP_PERFMON, or kernel.perf_event_paranoid of 1 or less"
	case k.Hardware && errors.Is(err, unix.EINVAL):
		return "this processor has no such event"
	case k.Hardware && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV)):
		return "this processor, or the hypervisor before it, offers no counter of it (no PMU?)"
	case errors.Is(err, unix.ENOSYS):
		return "the kernel has no perf events (CONFIG_PERF_EVENTS)"
	}
	return err.Error()
}

// Open switches the counters on.
func (s *Set) Open() error {
	s.opened = time.Now()
	return s.each(unix.PERF_EVENT_IOC_ENABLE, func(i int) { s.ops[i] = s.threads[i].Ops() })
}

// Close switches them off.
func (s *Set) Close() error {
	s.window = time.Since(s.opened)
	return s.each(unix.PERF_EVENT_IOC_DISABLE, func(i int) { s.ops[i] = s.threads[i].Ops() - s.ops[i] })
}

// each switches the counters of one thread after the other, and has the
// thread's operations read in their middle, so that both belong together.
func (s *Set) each(request uint, ops func(i int)) error {
	for i, fds := range s.fds {
		for j, fd := range fds {
			if j == len(fds)/2 {
				ops(i)
			}
			if err := unix.IoctlSetInt(fd, request, 0); err != nil {
				return fmt.Errorf("%s of thread %d: %w", s.kinds[j].Name, s.threads[i].TID, err)
			}
		}
	}
	return nil
}

// Stop reads the counters, closes them and sums them by role. An event that
// never had a counter of the processor is in the notes, and not among the sums.
func (s *Set) Stop() ([]record.Counters, record.Instrument, error) {
	defer s.close()
	inst := record.Instrument{Name: "counters", Source: "perf_event", Blind: []string{
		"lines that another core had modified: they have no generic event; misses of the last level hold those that crossed a package",
		"what interrupts did for others meanwhile: it is counted for the thread that they interrupted"}}
	window := s.window.Nanoseconds()
	inst.WindowNS = &window
	var out []record.Counters
	var sums [][]sum // by role and event
	at := map[string]int{}
	for i, t := range s.threads {
		n, ok := at[t.Role]
		if !ok {
			n = len(out)
			at[t.Role] = n
			c := record.Counters{Role: t.Role}
			for _, k := range s.kinds {
				c.Events = append(c.Events, record.Counter{Event: k.Name, Hardware: k.Hardware})
			}
			out = append(out, c)
			sums = append(sums, make([]sum, len(s.kinds)))
		}
		c := &out[n]
		c.Threads++
		c.Ops += s.ops[i]
		for j, fd := range s.fds[i] {
			r, err := read(fd)
			if err != nil {
				return nil, inst, fmt.Errorf("%s of thread %d: %w", s.kinds[j].Name, t.TID, err)
			}
			sums[n][j].add(r)
		}
	}
	for n := range out {
		for j := range out[n].Events {
			e := &out[n].Events[j]
			e.Count, e.EnabledNS, e.RunningNS = sums[n][j].count(), sums[n][j].enabled, sums[n][j].running
		}
		out[n].Events = slices.DeleteFunc(out[n].Events, func(e record.Counter) bool {
			never := e.EnabledNS > 0 && e.RunningNS == 0
			if never {
				inst.Notes = append(inst.Notes, fmt.Sprintf("%s of %ss never had a counter: another program holds the processor's, or it is one of CPUs of another kind", e.Event, out[n].Role))
			}
			return never
		})
	}
	return out, inst, nil
}

// reading is what read(2) gives of an event with its times (perf_event_open(2),
// read_format).
type reading struct {
	value            uint64
	enabled, running int64 // ns on a CPU; running with a counter
}

func read(fd int) (reading, error) {
	var b [24]byte
	n, err := unix.Read(fd, b[:])
	if err == nil && n != len(b) { // an event in error state reads as nothing
		err = fmt.Errorf("read %d bytes of %d", n, len(b))
	}
	if err != nil {
		return reading{}, err
	}
	return decode(b), nil
}

func decode(b [24]byte) reading {
	return reading{binary.NativeEndian.Uint64(b[0:]), int64(binary.NativeEndian.Uint64(b[8:])), int64(binary.NativeEndian.Uint64(b[16:]))}
}

// sum is one event over the threads of a role.
type sum struct {
	scaled           float64 // of the threads that had a counter
	seen             int64   // their enabled time
	enabled, running int64
}

// add scales the count to all of the thread's time where it shared its counter.
func (s *sum) add(r reading) {
	s.enabled += r.enabled
	s.running += r.running
	if r.running <= 0 {
		return
	}
	s.seen += r.enabled
	s.scaled += float64(r.value) * max(1, float64(r.enabled)/float64(r.running))
}

// count takes threads that never had a counter to have done as the others did.
func (s *sum) count() int64 {
	if s.seen <= 0 {
		return 0
	}
	return int64(math.Round(s.scaled * float64(s.enabled) / float64(s.seen)))
}

func (s *Set) close() {
	for _, fds := range s.fds {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	s.fds = nil
}
