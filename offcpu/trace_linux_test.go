package offcpu

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// figuresOf reads them while the thread sleeps: they are exact then.
func figuresOf(t *testing.T, pid, tid int) (f figures) {
	t.Helper()
	for range 5000 {
		if stateOf(pid, tid) == 'S' {
			break
		}
		time.Sleep(time.Millisecond)
	}
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
// one line of input to the next; and sleep again.
func loadMain(name string) int {
	in := bufio.NewReader(os.Stdin)
	var start, all sync.WaitGroup
	start.Add(1)
	var stop atomic.Bool
	tids := make(chan int, loadThreads)
	thread := func(f func() bool) {
		all.Add(1)
		go func() {
			runtime.LockOSThread()
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
	before := map[int]figures{}
	for _, tid := range tids {
		before[tid] = figuresOf(t, pid, tid)
	}
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
	theirs := map[int]figures{}
	for _, tid := range tids {
		f, b := figuresOf(t, pid, tid), before[tid]
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
// the kernel counted; on CPU and waiting agree with schedstat. The kernel ends a
// thread's time at the wake-up that leads to its preemption (it then skips
// rq_clock's update at the switch), we at the switch: where others preempt and
// are preempted all the time, some microseconds a switch are another thread's.
// Hence a bound for each thread by its switches, and agreement of the sums in a
// quiet moment.
func TestTraceAgrees(t *testing.T) {
	for _, name := range []string{"pingpong", "fanin"} {
		t.Run(name, func(t *testing.T) {
			var why string
			for range 5 {
				if why = agrees(t, name); why == "" {
					return
				}
				t.Log(why)
			}
			t.Error(why)
		})
	}
}

// agrees checks one run; it says in what the sums of the threads differ.
func agrees(t *testing.T, name string) string {
	t.Helper()
	s, tr, theirs := watch(t, Options{}, name)
	window := *tr.Instrument().WindowNS
	near := func(have, want int64, part float64, slack time.Duration) bool {
		return math.Abs(float64(have-want)) <= part*float64(want)+float64(slack)
	}
	var on, waited, theirOn, theirWaited int64
	found := 0
	for _, th := range s.Threads {
		if th.Unavailable == "" {
			if sum := th.OnNS + th.RunnableNS + th.BlockedNS; !near(sum, th.LifeNS, 0.001, 0) {
				t.Errorf("thread %d: %d on + %d runnable + %d blocked are not the %d ns that it was there", th.TID, th.OnNS, th.RunnableNS, th.BlockedNS, th.LifeNS)
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
		slack := time.Millisecond + time.Duration(f.voluntary+f.involuntary)*20*time.Microsecond
		if !near(th.OnNS, f.on, 0.03, slack) {
			t.Errorf("thread %d: %d ns on CPU, by schedstat %d, in %d switches", th.TID, th.OnNS, f.on, f.voluntary+f.involuntary)
		}
		if !near(th.RunnableNS, f.waited, 0.20, slack) {
			t.Errorf("thread %d: %d ns waiting, by schedstat %d, in %d switches", th.TID, th.RunnableNS, f.waited, f.voluntary+f.involuntary)
		}
		on, theirOn, waited, theirWaited = on+th.OnNS, theirOn+f.on, waited+th.RunnableNS, theirWaited+f.waited
	}
	if found != len(theirs) {
		t.Fatalf("%d of %d threads were seen", found, len(theirs))
	}
	if s.WakeupNS == nil || s.WakeupNS.Count == 0 || s.WakeupNS.Min > s.WakeupNS.P50 || s.WakeupNS.P50 > s.WakeupNS.Max {
		t.Errorf("wake-ups %+v", s.WakeupNS)
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
	if !near(on, theirOn, 0.03, time.Millisecond) {
		return fmt.Sprintf("%d ns on CPU, by schedstat %d", on, theirOn)
	}
	if !near(waited, theirWaited, 0.20, time.Millisecond) {
		return fmt.Sprintf("%d ns waiting, by schedstat %d", waited, theirWaited)
	}
	return ""
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
