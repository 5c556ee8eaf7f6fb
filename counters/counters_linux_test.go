package counters

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// The layout of perf_event_open(2): the value, then time enabled and time running.
func TestDecode(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the bytes are those of a little-endian machine")
	}
	got := decode([24]byte{0x2a, 0x01, 0, 0, 0, 0, 0, 0, 0x40, 0x42, 0x0f, 0, 0, 0, 0, 0, 0x90, 0xd0, 0x03, 0, 0, 0, 0, 0})
	if got != (reading{298, 1000000, 250000}) {
		t.Errorf("%+v", got)
	}
}

// An event that had a counter for a part of its time counts for all of it; a
// thread that never had one, as the others of its role did.
func TestSharedCountersAreScaled(t *testing.T) {
	for _, c := range []struct {
		readings []reading
		want     int64
	}{
		{[]reading{{100, 10, 10}}, 100},
		{[]reading{{100, 40, 10}}, 400},
		{[]reading{{100, 10, 10}, {100, 40, 10}}, 500},
		{[]reading{{100, 10, 10}, {0, 30, 0}}, 400},
		{[]reading{{0, 10, 10}}, 0},
		{[]reading{{0, 10, 0}}, 0},
		{[]reading{{7, 10, 11}}, 7}, // read between two updates
		{[]reading{{1 << 62, 10, 10}}, 1 << 62},
		{nil, 0},
	} {
		var s sum
		for _, r := range c.readings {
			s.add(r)
		}
		if got := s.count(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.readings, got, c.want)
		}
	}
}

// Events that the kernel counts itself go the whole way that those of the
// processor go, and what they count is known from elsewhere.
func TestWhatTheKernelCounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_PERFMON")
	}
	tids, work, done := make(chan int), make(chan bool), make(chan unix.Rusage)
	const threads = 3
	for range threads {
		go func() {
			runtime.LockOSThread()
			tids <- unix.Gettid()
			<-work
			var a, b unix.Rusage
			unix.Getrusage(unix.RUSAGE_THREAD, &a)
			pause := unix.NsecToTimespec(100_000)
			for range 200 {
				for until := time.Now().Add(50 * time.Microsecond); time.Now().Before(until); {
				}
				unix.Nanosleep(&pause, nil)
			}
			unix.Getrusage(unix.RUSAGE_THREAD, &b)
			done <- unix.Rusage{Nvcsw: b.Nvcsw - a.Nvcsw, Nivcsw: b.Nivcsw - a.Nivcsw,
				Utime: unix.NsecToTimeval(b.Utime.Nano() - a.Utime.Nano() + b.Stime.Nano() - a.Stime.Nano())}
			<-work
		}()
	}
	defer close(work)
	var ts []Thread
	for range threads {
		ts = append(ts, Thread{TID: <-tids, Role: record.Client, Ops: func() uint64 { return 0 }})
	}
	ts[threads-1].Role = record.Server
	set, absent, err := Start(ts)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"task-clock", "context-switches", "cpu-migrations", "page-faults"} {
		if why := absent[name]; why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	if err := set.Open(); err != nil {
		t.Fatal(err)
	}
	var switches, cpu int64
	for range threads {
		work <- true
	}
	for range threads {
		u := <-done
		switches += int64(u.Nvcsw + u.Nivcsw)
		cpu += u.Utime.Nano()
	}
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	counted, _, err := set.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if len(counted) != 2 || counted[0].Role != record.Client || counted[0].Threads != threads-1 || counted[1].Threads != 1 {
		t.Fatalf("%+v", counted)
	}
	sums := map[string]record.Counter{}
	for _, c := range counted {
		for _, e := range c.Events {
			if !e.Hardware && (e.RunningNS != e.EnabledNS || e.RunningNS <= 0) {
				t.Errorf("%s: %+v", c.Role, e)
			}
			s := sums[e.Event]
			s.Count += e.Count
			s.EnabledNS += e.EnabledNS
			sums[e.Event] = s
		}
	}
	// The waits for the start and for the end are switches too.
	if got := sums["context-switches"].Count; got < switches || got > switches+20*threads {
		t.Errorf("%d switches, %d by getrusage", got, switches)
	}
	got, enabled := sums["task-clock"].Count, sums["task-clock"].EnabledNS
	if got < cpu/2 || got > 2*cpu+int64(50*time.Millisecond) || enabled < got*9/10 {
		t.Errorf("%v on CPU, of %v enabled, and %v by getrusage", time.Duration(got), time.Duration(enabled), time.Duration(cpu))
	}
}

// A descriptor that reads short is an error, and no zero.
func TestShortReads(t *testing.T) {
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r, err := read(int(f.Fd())); err == nil {
		t.Errorf("nothing was read as %+v", r)
	}
}

// What is refused says what would grant it, or why it cannot be.
func TestRefused(t *testing.T) {
	hardware, software := kinds[0], kinds[len(kinds)-1]
	for _, c := range []struct {
		kind kind
		err  error
		want string
	}{
		{hardware, unix.EACCES, "the kernel's part may not be counted: needs CAP_PERFMON, or kernel.perf_event_paranoid of 1 or less"},
		{hardware, unix.ENOENT, "this processor, or the hypervisor before it, offers no counter of it (no PMU?)"},
		{hardware, unix.EINVAL, "this processor has no such event"},
		{software, unix.ENOSYS, "the kernel has no perf events (CONFIG_PERF_EVENTS)"},
		{software, unix.EINVAL, "invalid argument"},
	} {
		if got := refused(c.kind, c.err); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.kind.Name, c.err, got, c.want)
		}
	}
}
