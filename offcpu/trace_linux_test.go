package offcpu

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/record"
)

const loadEnv = "UDSBENCH_OFFCPU_LOAD"

func TestMain(m *testing.M) {
	if name := os.Getenv(loadEnv); name != "" {
		os.Exit(loadMain(name))
	}
	os.Exit(m.Run())
}

// figures are what the kernel tells of a thread by other means than ours: its
// schedstat and its status.
type figures struct {
	on, waited             int64
	voluntary, involuntary int64
}

// settled reads them once all threads sleep for good: they are exact then, and
// belong to what the threads did before.
func settled(t *testing.T, pid int, tids []int) map[int]figures {
	t.Helper()
	var last map[int]figures
	for range 1000 {
		now, asleep := map[int]figures{}, true
		for _, tid := range tids {
			asleep = asleep && stateOf(pid, tid) == 'S'
			now[tid] = figuresOf(t, pid, tid)
		}
		if asleep && maps.Equal(now, last) {
			return now
		}
		last = now
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the threads do not come to rest")
	return nil
}

func figuresOf(t *testing.T, pid, tid int) (f figures) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
	b, err := os.ReadFile(dir + "schedstat")
	if err != nil {
		t.Skip(err)
	}
	fmt.Sscan(string(b), &f.on, &f.waited)
	if b, err = os.ReadFile(dir + "status"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		fmt.Sscanf(line, "voluntary_ctxt_switches: %d", &f.voluntary)
		fmt.Sscanf(line, "nonvoluntary_ctxt_switches: %d", &f.involuntary)
	}
	return f
}

const loadThreads = 8

// loadMain is a process of threads that print who they are and sleep; play from
// one line of input to the next; and sleep again. Each stays on a CPU: what the
// kernel counts of a thread that is moved asleep began before a test can look.
func loadMain(name string) int {
	in := bufio.NewReader(os.Stdin)
	var start, all sync.WaitGroup
	start.Add(1)
	var stop atomic.Bool
	tids := make(chan int, loadThreads)
	cpus, err := affinity.Mask()
	if err != nil {
		return 1
	}
	threads := 0
	thread := func(f func() bool) {
		cpu := cpus[threads%len(cpus)]
		threads++
		all.Add(1)
		go func() {
			runtime.LockOSThread()
			var one unix.CPUSet
			one.Set(cpu)
			if unix.SchedSetaffinity(0, &one) != nil {
				os.Exit(1)
			}
			tids <- unix.Gettid()
			start.Wait()
			for f() {
			}
			all.Done()
			select {} // the thread stays, to be looked at
		}()
	}
	read := func(fd int, buf []byte) bool { n, err := unix.Read(fd, buf); return n > 0 && err == nil }
	send := func(fd int, buf []byte) { unix.Sendto(fd, buf, unix.MSG_NOSIGNAL, nil) }
	switch name {
	case "pingpong":
		for range loadThreads / 2 {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return 1
			}
			ping, pong := make([]byte, 1), make([]byte, 1)
			thread(func() bool {
				if stop.Load() {
					unix.Shutdown(fds[0], unix.SHUT_RDWR)
				}
				send(fds[0], ping)
				return read(fds[0], ping)
			})
			thread(func() bool { ok := read(fds[1], pong); send(fds[1], pong); return ok })
		}
	case "fanin":
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return 1
		}
		var writers atomic.Int32
		writers.Store(loadThreads - 1)
		for range loadThreads - 1 {
			msg := make([]byte, 64)
			thread(func() bool {
				send(fds[0], msg)
				if !stop.Load() {
					return true
				}
				if writers.Add(-1) == 0 {
					unix.Shutdown(fds[0], unix.SHUT_RDWR)
				}
				return false
			})
		}
		buf := make([]byte, 4096)
		thread(func() bool { return read(fds[1], buf) })
	}
	for range loadThreads {
		fmt.Println(<-tids)
	}
	in.ReadString('\n')
	start.Done()
	in.ReadString('\n')
	stop.Store(true)
	all.Wait()
	fmt.Println("stopped")
	io.Copy(io.Discard, in)
	return 0
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startLoad(t *testing.T, name string) (c *child, tids []int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c = &child{cmd: exec.Command(exe)}
	c.cmd.Env = append(os.Environ(), loadEnv+"="+name)
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.in.Close(); c.cmd.Wait() })
	for range loadThreads {
		var tid int
		if _, err := fmt.Fscan(c.out, &tid); err != nil {
			t.Fatal(err)
		}
		tids = append(tids, tid)
	}
	return c, tids
}

// watch traces a load from before its start until after its end, while all its
// threads sleep, and gives what the trace and what the kernel told of them.
func watch(t *testing.T, o Options, name string) (*record.Sched, *Trace, map[int]figures) {
	t.Helper()
	if err := Probe(o); err != nil {
		t.Skip(err)
	}
	c, tids := startLoad(t, name)
	pid := c.cmd.Process.Pid
	o.PIDs = []int{pid}
	tr, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	before := settled(t, pid, tids)
	if err := tr.Open(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.in, "go")
	time.Sleep(300 * time.Millisecond)
	fmt.Fprintln(c.in, "stop")
	var word string
	if _, err := fmt.Fscan(c.out, &word); err != nil || word != "stopped" {
		t.Fatalf("%q, %v", word, err)
	}
	theirs := settled(t, pid, tids)
	for tid, f := range theirs {
		b := before[tid]
		theirs[tid] = figures{f.on - b.on, f.waited - b.waited, f.voluntary - b.voluntary, f.involuntary - b.involuntary}
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := tr.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return s, tr, theirs
}

// On CPU, runnable and blocked together are the window; switches are those that
// the kernel counted; on CPU and waiting, by the clock that the kernel goes by,
// are what schedstat has for each thread. By their own time they are not (docs/schedulers.md).
func TestTraceAgrees(t *testing.T) {
	for _, name := range []string{"pingpong", "fanin"} {
		t.Run(name, func(t *testing.T) { agrees(t, name) })
	}
}

func agrees(t *testing.T, name string) {
	t.Helper()
	s, tr, theirs := watch(t, Options{}, name)
	window := *tr.Instrument().WindowNS
	// On a busy machine a thread may be woken while its CPU still looks for
	// another one to run: that takes long then, and no event tells of it.
	const slack = 0.01
	near := func(have, want int64, part float64) bool {
		return math.Abs(float64(have-want)) <= part*float64(want)+slack*float64(window)
	}
	found := 0
	for _, th := range s.Threads {
		if th.Unavailable == "" {
			if sum := th.OnNS + th.RunnableNS + th.BlockedNS; !near(sum, th.LifeNS, 0.001) {
				t.Errorf("thread %d: %d on + %d runnable + %d blocked are not the %d ns that it was there", th.TID, th.OnNS, th.RunnableNS, th.BlockedNS, th.LifeNS)
			}
			if th.BeingWokenNS > th.BlockedNS || th.IdleExitNS > th.BeingWokenNS+th.RunnableNS {
				t.Errorf("thread %d: parts are more than the whole: %+v", th.TID, th)
			}
		}
		f, ok := theirs[th.TID]
		if !ok {
			continue
		}
		found++
		if th.LifeNS != window {
			t.Errorf("thread %d: there for %d of %d ns", th.TID, th.LifeNS, window)
		}
		if d := th.Voluntary - f.voluntary; d < -3 || d > 3 {
			t.Errorf("thread %d: %d voluntary switches, the kernel counted %d", th.TID, th.Voluntary, f.voluntary)
		}
		if d := th.Involuntary - f.involuntary; d < -3 || d > 3 {
			t.Errorf("thread %d: %d involuntary switches, the kernel counted %d", th.TID, th.Involuntary, f.involuntary)
		}
		if th.Clock == nil {
			t.Fatalf("thread %d: the run queue's clock was not read", th.TID)
		}
		if !near(th.Clock.OnNS, f.on, 0.03) {
			t.Errorf("thread %d: %d ns on CPU, by schedstat %d, in %d switches", th.TID, th.Clock.OnNS, f.on, f.voluntary+f.involuntary)
		}
		// A hypervisor takes milliseconds at a time, and on a busy host many.
		if th.Clock.UnchargedNS < 0 || th.Clock.UnchargedNS > th.LifeNS/4 {
			t.Errorf("thread %d: %d ns on CPU and not charged for", th.TID, th.Clock.UnchargedNS)
		}
		if !near(th.Clock.RunnableNS, f.waited, 0.20) {
			t.Errorf("thread %d: %d ns waiting, by schedstat %d, in %d switches", th.TID, th.Clock.RunnableNS, f.waited, f.voluntary+f.involuntary)
		}
	}
	if found != len(theirs) {
		t.Fatalf("%d of %d threads were seen", found, len(theirs))
	}
	if s.WakeupNS == nil || s.WakeupNS.Count == 0 || s.WakeupNS.Min > s.WakeupNS.P50 || s.WakeupNS.P50 > s.WakeupNS.Max {
		t.Errorf("wake-ups %+v", s.WakeupNS)
	}
	var parts uint64
	for _, l := range []*record.Latency{s.WakeupIdleNS, s.WakeupBehindNS} {
		if l != nil {
			parts += l.Count
		}
	}
	if parts != s.WakeupNS.Count {
		t.Errorf("%d wake-ups by who had the CPU, %d in all", parts, s.WakeupNS.Count)
	}
	var wakes, wakeups int64
	for _, p := range s.Wakes {
		wakes += p.N
	}
	for _, th := range s.Threads {
		wakeups += th.Wakes
	}
	if wakes != wakeups || wakes == 0 {
		t.Errorf("%d wake-ups by pairs of CPUs, %d by threads", wakes, wakeups)
	}
	if inst := tr.Instrument(); inst.SelfNS == nil || *inst.SelfNS <= 0 || *inst.Lost*1000 > *inst.Calls {
		t.Errorf("instrument %+v", inst)
	}
}

// Of a process in Threads, those alone are watched; where they slept is theirs.
func TestOnlyTheNamedThreads(t *testing.T) {
	if err := Probe(Options{}); err != nil {
		t.Skip(err)
	}
	c, tids := startLoad(t, "pingpong")
	pid := c.cmd.Process.Pid
	tr, err := Start(Options{PIDs: []int{pid}, Threads: map[int][]int{pid: tids}})
	if err != nil {
		t.Fatal(err)
	}
	settled(t, pid, tids)
	if err := tr.Open(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.in, "go")
	time.Sleep(300 * time.Millisecond)
	s, err := tr.Stop()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.in, "stop")
	if len(s.Threads) != len(tids) {
		t.Errorf("%d threads of %d", len(s.Threads), len(tids))
	}
	for _, th := range s.Threads {
		if !slices.Contains(tids, th.TID) {
			t.Errorf("thread %d is not of %v", th.TID, tids)
		}
	}
	var sleeps, voluntary int64
	for _, sl := range s.Sleeps {
		sleeps += sl.Count
	}
	for _, th := range s.Threads {
		voluntary += th.Voluntary
	}
	if most := voluntary + int64(len(tids)); sleeps > most || sleeps == 0 {
		t.Errorf("%d sleeps of threads that left their CPUs %d times", sleeps, voluntary)
	}
}

// A ping-pong sleeps in read, and with stacks in the stream's read.
func TestWhyTheySlept(t *testing.T) {
	for _, c := range []struct {
		stacks bool
		site   string
	}{{false, "read()"}, {true, "unix_stream_read_generic"}} {
		s, _, theirs := watch(t, Options{Stacks: c.stacks}, "pingpong")
		var switches, sleeps int64
		for _, f := range theirs {
			switches += f.voluntary
		}
		for _, sl := range s.Sleeps {
			if sl.Site == c.site {
				sleeps += sl.Count
			}
		}
		if switches < 100 || sleeps*10 < switches*8 {
			t.Errorf("%d sleeps in %s of %d voluntary switches: %+v", sleeps, c.site, switches, s.Sleeps[:min(3, len(s.Sleeps))])
		}
		if c.stacks && !strings.Contains(strings.Join(s.Sleeps[0].Stacks[0].Frames, " "), "do_syscall_64") && runtime.GOARCH == "amd64" {
			t.Errorf("stack %v", s.Sleeps[0].Stacks[0].Frames)
		}
	}
}
