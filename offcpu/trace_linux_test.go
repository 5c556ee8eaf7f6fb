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
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

const loadEnv = "UDSBENCH_OFFCPU_LOAD"

func TestMain(m *testing.M) {
	if os.Getenv(loadEnv) != "" {
		os.Exit(loadMain())
	}
	os.Exit(m.Run())
}

// figures are what a thread of the load knows of its own window, from sources
// that are not ours: its schedstat and getrusage.
type figures struct {
	tid                    int
	wall, on, waited       int64
	voluntary, involuntary int64
}

func figuresNow() (f figures) {
	f.tid = unix.Gettid()
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	f.wall = ts.Nano()
	b, _ := os.ReadFile("/proc/thread-self/schedstat")
	fmt.Sscan(string(b), &f.on, &f.waited)
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_THREAD, &u)
	f.voluntary, f.involuntary = u.Nvcsw, u.Nivcsw
	return f
}

// loadMain is a process of ping-pong pairs: per line "open" its threads note
// where they are, then play until "close", and print what they saw between.
func loadMain() int {
	in := bufio.NewReader(os.Stdin)
	const pairs = 4
	var start, all sync.WaitGroup
	start.Add(1)
	stop := make(chan struct{})
	results := make(chan figures, 2*pairs)
	ready := make(chan struct{}, 2*pairs)
	for range pairs {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return 1
		}
		thread := func(first bool, fd int) {
			runtime.LockOSThread()
			buf := make([]byte, 1)
			ready <- struct{}{}
			start.Wait()
			before := figuresNow()
			for {
				if first {
					select {
					case <-stop:
						unix.Shutdown(fd, unix.SHUT_RDWR)
					default:
					}
					unix.Sendto(fd, buf, unix.MSG_NOSIGNAL, nil)
				}
				if n, err := unix.Read(fd, buf); n <= 0 || err != nil {
					break
				}
				if !first {
					unix.Sendto(fd, buf, unix.MSG_NOSIGNAL, nil)
				}
			}
			after := figuresNow()
			results <- figures{after.tid, after.wall - before.wall, after.on - before.on, after.waited - before.waited, after.voluntary - before.voluntary, after.involuntary - before.involuntary}
			all.Done()
			select {} // the thread stays, to be looked at
		}
		all.Add(2)
		go thread(true, fds[0])
		go thread(false, fds[1])
	}
	for range 2 * pairs {
		<-ready
	}
	fmt.Println("ready")
	in.ReadString('\n')
	start.Done()
	in.ReadString('\n')
	close(stop)
	all.Wait()
	for range 2 * pairs {
		f := <-results
		fmt.Println(f.tid, f.wall, f.on, f.waited, f.voluntary, f.involuntary)
	}
	io.Copy(io.Discard, in)
	return 0
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startLoad(t *testing.T) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe)}
	c.cmd.Env = append(os.Environ(), loadEnv+"=1")
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
	if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return c
}

// watch traces a load and gives what the trace and what the threads saw.
func watch(t *testing.T, o Options) (*record.Sched, *Trace, map[int]figures) {
	t.Helper()
	if err := Probe(o); err != nil {
		t.Skip(err)
	}
	c := startLoad(t)
	o.PIDs = []int{c.cmd.Process.Pid}
	tr, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Open(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.in, "go")
	time.Sleep(400 * time.Millisecond)
	fmt.Fprintln(c.in, "stop")
	theirs := map[int]figures{}
	for range 8 {
		var f figures
		if _, err := fmt.Fscan(c.out, &f.tid, &f.wall, &f.on, &f.waited, &f.voluntary, &f.involuntary); err != nil {
			t.Fatal(err)
		}
		theirs[f.tid] = f
	}
	s, err := tr.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return s, tr, theirs
}

// On CPU, waiting and switches agree with the kernel's own accounts; on CPU,
// runnable and blocked together are the window.
func TestTraceAgrees(t *testing.T) {
	s, tr, theirs := watch(t, Options{})
	window := *tr.Instrument().WindowNS
	found := 0
	var on, theirOn, waited, theirWaited int64
	for _, th := range s.Threads {
		if th.Unavailable == "" {
			if sum := th.OnNS + th.RunnableNS + th.BlockedNS; math.Abs(float64(sum-th.LifeNS)) > 0.001*float64(window) {
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
		// The thread's own window is a little shorter: it begins at the
		// start and ends before its report.
		if d := th.Voluntary - f.voluntary; d < 0 || d > 3 {
			t.Errorf("thread %d: %d voluntary switches, by getrusage %d", th.TID, th.Voluntary, f.voluntary)
		}
		if d := th.Involuntary - f.involuntary; d < -1 || d > 3 {
			t.Errorf("thread %d: %d involuntary switches, by getrusage %d", th.TID, th.Involuntary, f.involuntary)
		}
		t.Logf("thread %d: on %d (%+d), waiting %d (%+d), %d migrations", th.TID, th.OnNS, th.OnNS-f.on, th.RunnableNS, th.RunnableNS-f.waited, th.Migrations)
		on, theirOn, waited, theirWaited = on+th.OnNS, theirOn+f.on, waited+th.RunnableNS, theirWaited+f.waited
	}
	if found != len(theirs) {
		t.Fatalf("%d of %d threads were seen", found, len(theirs))
	}
	t.Logf("on CPU %d ns, by schedstat %d; waiting %d, by schedstat %d; %d of %d events lost", on, theirOn, waited, theirWaited, *tr.Instrument().Lost, *tr.Instrument().Calls)
	if math.Abs(float64(on-theirOn)) > 0.03*float64(theirOn)+1e6 {
		t.Errorf("on CPU %d ns, by schedstat %d", on, theirOn)
	}
	if math.Abs(float64(waited-theirWaited)) > 0.20*float64(theirWaited)+2e6 {
		t.Errorf("waiting %d ns, by schedstat %d", waited, theirWaited)
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
}

// A ping-pong sleeps in read, and with stacks in the stream's read.
func TestWhyTheySlept(t *testing.T) {
	for _, c := range []struct {
		stacks bool
		site   string
	}{{false, "read()"}, {true, "unix_stream_read_generic"}} {
		s, _, theirs := watch(t, Options{Stacks: c.stacks})
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
