package lockwait

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/kallsyms"
	"udsbench/record"
)

const loadTime = 300 * time.Millisecond

// watch runs a load of its own process under s.
func watch(t *testing.T, s Source, name string) (rows []Row, ops int64) {
	t.Helper()
	return watchTarget(t, s, startLoad(t, name), nil)
}

// watchThreads tells s which threads of the load work.
func watchThreads(t *testing.T, s Source, name string, threads func(pid int) map[int][]int) []Row {
	t.Helper()
	c := startLoad(t, name)
	rows, _ := watchTarget(t, s, c, threads(c.cmd.Process.Pid))
	return rows
}

func watchTarget(t *testing.T, s Source, c *child, workers map[int][]int) (rows []Row, ops int64) {
	t.Helper()
	if err := s.Start(Target{PIDs: []int{c.cmd.Process.Pid}, Threads: workers}); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	ops = c.run(loadTime)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return rows, ops
}

// needTrace skips where this kernel or these rights show no lock waits.
func needTrace(t *testing.T, s Source) {
	t.Helper()
	if err := s.Probe(); err != nil {
		t.Skip(err)
	}
	if s := FindSpinlocks(); s != SpinParavirt {
		t.Skipf("spinlocks are %s: two contenders do not show", s)
	}
}

// hot says which lock a load makes hot: the functions that want it, the class
// in which they lead, and on how many locks.
var hot = map[string]struct {
	class string
	sites []string
	kind  string
	locks int // at the most, at any of the sites and the kind
}{
	"writers": {record.ClassSocket, []string{"unix_stream_sendmsg", "unix_stream_read_generic"}, "spinlock", 2}, // the state locks and the queue's lock of one pair
	"dgram":   {record.ClassSocket, []string{"unix_dgram_sendmsg", "skb_queue_tail", "__skb_try_recv_datagram"}, "spinlock", 2},
	"storm":   {record.ClassSocket, []string{"unix_stream_connect", "prepare_to_wait_exclusive", "finish_wait", "__wake_up", "unix_wait_for_peer", "skb_recv_datagram", "__skb_try_recv_datagram"}, "spinlock", 2},
	"rights":  {record.ClassSocket, []string{"unix_add_edges", "unix_del_edges"}, "spinlock", 1},
	"readers": {record.ClassSocket, []string{"unix_stream_read_generic"}, "mutex:spun", 1},
	"churn":   {record.ClassDescriptors, []string{"alloc_fd", "file_close_fd", "close_fd"}, "spinlock", 1},
}

// The known lock leads its class, whose waits are counted in the workers. One
// wait that the host stretched can lead by itself in a short run, hence the
// second and third try.
func TestHotLockLeads(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	for name, want := range hot {
		t.Run(name, func(t *testing.T) {
			var why string
			for range 3 {
				rows, ops := watch(t, newEBPF(Options{}), name)
				if ops == 0 {
					t.Fatal("the load did nothing")
				}
				if why = leads(rows, want.class, want.sites); why == "" {
					locks(t, rows, want.sites, want.kind, want.locks)
					return
				}
			}
			if strings.Contains(why, tooFew) {
				t.Skip(why)
			}
			t.Error(why)
		})
	}
}

// tooFew marks what a machine that is busy elsewhere cannot show.
const tooFew = "too few to tell"

// leads says in what the sites do not lead the class.
func leads(rows []Row, class string, sites []string) string {
	var theirs, all int64
	for _, r := range rows {
		if r.Class != class || r.Where != record.InWorkers {
			continue
		}
		all += *r.Count
		if slices.Contains(sites, r.Site) {
			theirs += *r.Count
		}
	}
	if all < 10 {
		return fmt.Sprintf("%d waits in class %s: %s", all, class, tooFew)
	}
	if 2*theirs < all {
		return fmt.Sprintf("%v have %d of %d waits of class %s", sites, theirs, all, class)
	}
	for _, r := range rows {
		if r.Class == class && r.Where == record.InWorkers {
			if !slices.Contains(sites, r.Site) {
				return fmt.Sprintf("%s leads class %s, not %v", r.Site, class, sites)
			}
			break
		}
	}
	return ""
}

func locks(t *testing.T, rows []Row, sites []string, kind string, atMost int) {
	t.Helper()
	for _, r := range rows {
		if r.Kind != kind || r.Where != record.InWorkers || !slices.Contains(sites, r.Site) {
			continue
		}
		if r.Addresses == nil {
			t.Errorf("%s: %d waits for no lock", r.Site, *r.Count)
		} else if *r.Addresses < 1 || *r.Addresses > atMost {
			t.Errorf("%s waited for %d locks, want 1 to %d", r.Site, *r.Addresses, atMost)
		}
	}
}

// Pairs that share nothing wait for no lock of AF_UNIX.
func TestIndependentPairs(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	var waits, ops int64
	for range 10 {
		rows, n := watch(t, newEBPF(Options{}), "pingpong")
		ops += n
		for _, r := range rows {
			if r.Class == record.ClassSocket {
				waits += *r.Count
			}
		}
		if ops >= 5000 {
			break
		}
	}
	if ops < 5000 {
		t.Skipf("%d round trips: %s", ops, tooFew)
	}
	if waits*1000 > ops {
		t.Errorf("%d waits for socket locks in %d round trips", waits, ops)
	}
}

// Sums must fit together in every row.
func TestRowsAreWhole(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	for _, o := range []Options{{}, {NoStacks: true}, {Depth: 4}} {
		s := newEBPF(o)
		rows, _ := watch(t, s, "writers")
		if len(rows) == 0 {
			t.Fatalf("%+v: not observed", o)
		}
		inst := s.Instrument()
		if inst.SelfNS == nil || *inst.SelfNS <= 0 || *inst.Calls < *inst.Events || *inst.WindowNS < int64(loadTime) {
			t.Errorf("%+v: instrument %+v", o, inst)
		}
		for _, r := range rows {
			var n uint64
			for _, b := range r.Histogram.Buckets {
				n += b[1]
			}
			mean := *r.TotalNS / *r.Count
			if n != uint64(*r.Count) || *r.MinNS > mean || mean > *r.MaxNS || *r.Count < int64(value(int64Of(r.Addresses))) {
				t.Errorf("%+v: %s %s: count %d, histogram %d, min %d, mean %d, max %d", o, r.Site, r.Kind, *r.Count, n, *r.MinNS, mean, *r.MaxNS)
			}
			if o.NoStacks && r.Where == record.InWorkers && !strings.HasSuffix(r.Site, "()") && !strings.HasPrefix(r.Site, "system call") && r.Site != "(no system call)" {
				t.Errorf("without stacks the site is %s", r.Site)
			}
		}
	}
}

func int64Of(n *int) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

// What a process's other threads wait for is the Go runtime's: it is told apart,
// in locks as in futexes. Of goroutines any thread works, and what it waits for
// in futex(2) is the runtime's too.
func TestOnlyWorkersCount(t *testing.T) {
	for name, s := range map[string]func() Source{"ebpf": func() Source { return newEBPF(Options{}) }, "perf": func() Source { return newPerf(Options{}) }} {
		needTrace(t, s())
		for _, c := range []struct {
			what    string
			threads func(pid int) map[int][]int
			want    string
		}{
			{"nobody told", func(int) map[int][]int { return nil }, record.InWorkers},
			{"the main thread only", func(pid int) map[int][]int { return map[int][]int{pid: {pid}} }, record.InRuntime},
			{"goroutines", func(int) map[int][]int { return map[int][]int{} }, record.InWorkers},
		} {
			counts := map[string]int64{}
			for range 3 {
				for _, r := range watchThreads(t, s(), "churn", c.threads) {
					if r.Class != record.ClassUser {
						counts[r.Where] += *r.Count
					}
				}
			}
			other := record.InWorkers + record.InRuntime
			if other = strings.Replace(other, c.want, "", 1); counts[other]*5 > counts[c.want]+10 { // the main thread waits now and then
				t.Errorf("%s, %s: %v, want %s", name, c.what, counts, c.want)
			}
			if counts[c.want] == 0 {
				t.Skipf("%s, %s: %v: no waits on a machine as busy, or as idle, as this", name, c.what, counts)
			}
		}
	}
}

// Threads that are no workers' wait in futex(2) all the time in any Go program.
func TestFutexesOfTheRuntime(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	for want, threads := range map[string]func(pid int) map[int][]int{
		record.InWorkers: func(int) map[int][]int { return nil },
		record.InRuntime: func(int) map[int][]int { return map[int][]int{} },
	} {
		n := 0
		for _, r := range watchThreads(t, newEBPF(Options{}), "held", threads) {
			if r.Class == record.ClassUser {
				if n++; r.Where != want {
					t.Errorf("%s: %d waits in %s, want %s", r.Site, *r.Count, r.Where, want)
				}
			}
		}
		if n == 0 {
			t.Errorf("no wait in futex(2): want %s", want)
		}
	}
}

// Waits that the close cuts off are in no row, and counted.
func TestUnfinished(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	c := startLoad(t, "held")
	s := newEBPF(Options{})
	if err := s.Start(Target{PIDs: []int{c.cmd.Process.Pid}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() { c.run(2 * time.Second); done <- true }()
	time.Sleep(500 * time.Millisecond) // all wait by now
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-done // they end after the close and before the programs are off
	rows, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Class == record.ClassUser && *r.Addresses == 1 && *r.Count >= threads {
			t.Errorf("%d waits for the mutex that nobody got: %+v", *r.Count, r)
		}
	}
	if i := s.Instrument(); *i.UnfinishedFutexes < threads || *i.UnfinishedFutexes > threads+32 {
		t.Errorf("%d waits had not ended, and %d threads waited", *i.UnfinishedFutexes, threads)
	}
}

// perf counts the same tracepoint on the same run; it is the reference.
func TestCountsAgreeWithPerf(t *testing.T) {
	needTrace(t, newEBPF(Options{}))
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("perf is not installed")
	}
	for _, name := range []string{"writers", "readers", "churn", "rights"} {
		t.Run(name, func(t *testing.T) {
			for range 4 {
				if compareWithPerf(t, perf, name) {
					return
				}
			}
			t.Skip("too few waits to compare: this machine is too busy, or too idle")
		})
	}
}

// compareWithPerf is false where there was too little to compare.
func compareWithPerf(t *testing.T, perf, name string) bool {
	t.Helper()
	c := startLoad(t, name)
	p := startPerf(t, perf, c.cmd.Process.Pid)
	s := newEBPF(Options{})
	if err := s.Start(Target{PIDs: []int{c.cmd.Process.Pid}}); err != nil {
		t.Fatal(err)
	}
	p.tell("enable")
	s.Open()
	c.run(loadTime)
	s.Close()
	p.tell("disable")
	rows, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	ref := p.stop()
	inst := s.Instrument()
	ours, theirs := *inst.Events+*inst.Lost, ref.events+ref.lost
	t.Logf("%s: events %d + %d lost, by perf %d + %d", name, *inst.Events, *inst.Lost, ref.events, ref.lost)
	if theirs < 200 {
		return false
	}
	if d := max(ours-theirs, theirs-ours); d*100 > theirs {
		t.Errorf("%d events, by perf %d", ours, theirs)
	}
	if ref.lost > 0 || *inst.Lost > 0 {
		return true
	}
	// Site by site: spinlocks begin once a wait.
	for _, r := range rows[:min(len(rows), 10)] {
		if r.Kind != "spinlock" || r.Where != record.InWorkers || *r.Count < 100 {
			continue
		}
		same, locks := int64(0), map[string]bool{}
		for k, n := range ref.sites {
			if k.site == r.Site && k.caller == r.Caller {
				same += n
				locks[k.lock] = true
			}
		}
		// A few events lie between the two openings of the window.
		if d := max(same-*r.Count, *r.Count-same); d*100 > same+500 {
			t.Errorf("%s from %s: %d waits, by perf %d (%v)", r.Site, r.Caller, *r.Count, same, inst.Notes)
		}
		if len(locks) != *r.Addresses {
			t.Errorf("%s from %s: %d locks, by perf %d", r.Site, r.Caller, *r.Addresses, len(locks))
		}
	}
	return true
}

// perfRun is a perf record under way, off until told.
type perfRun struct {
	t        *testing.T
	cmd      *exec.Cmd
	data     string
	ctl, ack *os.File
}

func startPerf(t *testing.T, perf string, pid int) *perfRun {
	t.Helper()
	dir := t.TempDir()
	p := &perfRun{t: t, data: filepath.Join(dir, "perf.data")}
	ctl, ack := filepath.Join(dir, "ctl"), filepath.Join(dir, "ack")
	for _, f := range []string{ctl, ack} {
		if err := unix.Mkfifo(f, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	// Both ends, so that neither opening blocks.
	if p.ctl, err = os.OpenFile(ctl, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	if p.ack, err = os.OpenFile(ack, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(perf, "record", "-q", "-D", "-1", "--control", "fifo:"+ctl+","+ack, "-e", "lock:contention_begin", "-g", "-m", "4096",
		"-p", strconv.Itoa(pid), "-o", p.data)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait(); p.ctl.Close(); p.ack.Close() })
	return p
}

// tell gives a command and waits until it was done.
func (p *perfRun) tell(command string) {
	p.t.Helper()
	fmt.Fprintln(p.ctl, command)
	p.ack.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := p.ack.Read(make([]byte, 16)); err != nil {
		p.t.Fatalf("perf did not %s: %v", command, err)
	}
}

type perfSite struct{ site, caller, lock string }

type perfResult struct {
	events, lost int64
	sites        map[perfSite]int64
}

var (
	perfEvent = regexp.MustCompile(`lock:contention_begin: (0x[0-9a-f]+) \(flags=(\S*)\)`)
	perfLost  = regexp.MustCompile(`PERF_RECORD_LOST.* lost (\d+)`)
	perfFrame = regexp.MustCompile(`^\s+[0-9a-f]+ (\S+)\+0x[0-9a-f]+ \(\[kernel`)
)

func (p *perfRun) stop() perfResult {
	p.t.Helper()
	p.cmd.Process.Signal(os.Interrupt)
	p.cmd.Wait()
	out, err := exec.Command(p.cmd.Path, "script", "--show-lost-events", "-F", "comm,tid,time,event,trace,ip,sym,symoff,dso", "-i", p.data).Output()
	if err != nil {
		p.t.Fatalf("perf script: %v", err)
	}
	res := perfResult{sites: map[perfSite]int64{}}
	for _, block := range strings.Split(string(out), "\n\n") {
		for _, line := range strings.Split(block, "\n") {
			if m := perfLost.FindStringSubmatch(line); m != nil {
				n, _ := strconv.ParseInt(m[1], 10, 64)
				res.lost += n
			}
		}
		m := perfEvent.FindStringSubmatch(block)
		if m == nil {
			continue
		}
		res.events++
		var frames []kallsyms.Frame
		for _, line := range strings.Split(block, "\n") {
			if f := perfFrame.FindStringSubmatch(line); f != nil {
				name, _, _ := strings.Cut(f[1], ".")
				frames = append(frames, kallsyms.Frame{Name: name})
			}
		}
		at := kallsyms.Site(frames, strings.Contains(m[2], "MUTEX"))
		if at+1 < len(frames) && m[2] == "SPIN" {
			res.sites[perfSite{frames[at].Name, frames[at+1].Name, m[1]}]++
		}
	}
	return res
}
