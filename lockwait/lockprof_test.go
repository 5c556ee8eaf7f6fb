package lockwait

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"udsbench/record"
	"udsbench/sysctl"
)

func recordedProf(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/lockprof", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLockProfRecorded(t *testing.T) {
	for _, c := range []struct {
		file, site, kind, class     string
		count, acquired, total, max int64
		points                      int
		point                       string
		hold                        float64 // microseconds
	}{
		{"lock_prof_stats.ule.pingpong.txt", "unp", "sleep mutex", record.ClassSocket, 42, 0, 49628000, 7307000, 0, "/usr/src/sys/kern/uipc_usrreq.c:2027", 0},
		{"tcp-connection-rate-2014.txt", "tcp", "rw", record.ClassNet, 562770 + 541026 + 284203 + 284754 + 241000, 568650 + 642543 + 321270 + 321267 + 321268, (7854725 + 7309124 + 4907003 + 1484774 + 1195551) * 1000, 660000, 5, "…/tcp_input.c:1013", 2889429 + 3346826 + 109754 + 174398 + 1252721},
		{"tcp-connection-rate-2014.txt", "tcpinp", "rw", record.ClassNet, 90016, 1606362, 315757000, 197000, 1, "…/in_pcb.c:1802", 3828100},
	} {
		rows, err := ParseLockProf(recordedProf(t, c.file))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		r := find(rows, c.site, c.kind)
		if r == nil {
			t.Errorf("%s has no %s", c.file, c.site)
			continue
		}
		if r.Class != c.class || *r.MaxNS != c.max || r.Points[0].At != c.point {
			t.Errorf("%s %s: class %s, max %d, first at %s", c.file, c.site, r.Class, *r.MaxNS, r.Points[0].At)
		}
		if c.points > 0 && (*r.Count != c.count || *r.Acquired != c.acquired || *r.TotalNS != c.total || len(r.Points) != c.points || r.Columns["total"] != c.hold) {
			t.Errorf("%s %s: count %d, acquired %d, wait %d ns, %d points, hold %v", c.file, c.site, *r.Count, *r.Acquired, *r.TotalNS, len(r.Points), r.Columns["total"])
		}
		if _, ok := r.Columns["cnt_hold"]; ok {
			t.Errorf("%s %s: cnt_hold stands, though it is hard-wired", c.file, c.site)
		}
	}
}

// Nothing of a recorded table may be lost on the way into rows.
func TestLockProfSums(t *testing.T) {
	names, _ := filepath.Glob("testdata/lockprof/lock_prof_stats.*")
	if len(names) != 4 {
		t.Fatalf("%d recorded tables", len(names))
	}
	for _, n := range names {
		text := recordedProf(t, filepath.Base(n))
		rows, err := ParseLockProf(text)
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		var wantWait, wantLock, wantCount, lines, wait, lock, count, points int64
		for _, line := range strings.Split(text, "\n")[2:] {
			var v [9]int64
			if k, _ := fmt.Sscan(line, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8]); k == 9 {
				wantWait, wantLock, wantCount, lines = wantWait+v[3], wantLock+v[8], wantCount+v[4], lines+1
			}
		}
		for _, r := range rows {
			wait, lock, count, points = wait+*r.TotalNS/1000, lock+*r.Count, count+*r.Acquired, points+int64(len(r.Points))
		}
		if wait != wantWait || lock != wantLock || count != wantCount || points != lines || lines < 100 {
			t.Errorf("%s: wait %d of %d, cnt_lock %d of %d, count %d of %d, places %d of %d", n, wait, wantWait, lock, wantLock, count, wantCount, points, lines)
		}
	}
}

func TestLockProfClasses(t *testing.T) {
	rows, err := ParseLockProf(recordedProf(t, "lock_prof_stats.ule.contend.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ site, kind, class string }{
		{"so_rcv", "sleep mutex", record.ClassSocket}, {"so_rcv_sx", "sx", record.ClassSocket}, {"unp", "sleep mutex", record.ClassSocket}, {"unp_defer", "sleep mutex", record.ClassSocket},
		{"sched lock 0", "spin mutex", record.ClassScheduler}, {"sleepq chain", "spin mutex", record.ClassScheduler}, {"umtxql", "sleep mutex", record.ClassUser},
		{"process lock", "sleep mutex", record.ClassOther}, {"socket", "sleep mutex", record.ClassSocket},
		{"vmobject", "rw", record.ClassMemory}, {"vm page free queue", "sleep mutex", record.ClassMemory}, {"vm map (user)", "sx", record.ClassMemory}, {"nd6 list", "rw", record.ClassNet},
	} {
		if r := find(rows, c.site, c.kind); r == nil {
			t.Errorf("no %s %q", c.kind, c.site)
		} else if r.Class != c.class {
			t.Errorf("%s %q is class %s, want %s", c.kind, c.site, r.Class, c.class)
		}
	}
}

// A name says what a lock is for, in whatever files it was met.
func TestLockProfClassesAgree(t *testing.T) {
	names, _ := filepath.Glob("testdata/lockprof/lock_prof_stats.*")
	classes := map[string]string{}
	for _, n := range names {
		rows, err := ParseLockProf(recordedProf(t, filepath.Base(n)))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			lock := r.Kind + ":" + r.Site
			if was, seen := classes[lock]; seen && was != r.Class {
				t.Errorf("%s: %s is class %s, elsewhere %s", n, lock, r.Class, was)
			}
			classes[lock] = r.Class
		}
	}
}

// Rows without numbers are refused, not counted as zeroes.
func TestLockProfRefuses(t *testing.T) {
	for _, text := range []string{
		recordedProf(t, "lynx-two-workers-names-only-2017.txt"),
		"", "\n\n\x00", "nonsense\n",
		"max wait_max total wait_total count avg wait_avg cnt_hold cnt_lock name\n1 2 3 4 5 6 7 8 x f.c:1 (rw:a)\n",
		"max wait_max total wait_total count avg wait_avg cnt_hold cnt_lock name\n1 2 3 4 5 6 7 8 9 f.c:1 rw:a\n",
	} {
		if rows, err := ParseLockProf(text); err == nil {
			t.Errorf("%.80q gave %d rows", text, len(rows))
		}
	}
}

func FuzzLockProf(f *testing.F) {
	names, _ := filepath.Glob("testdata/lockprof/*")
	for _, n := range names {
		f.Add(recordedProf(f, filepath.Base(n)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ParseLockProf(text)
		if err != nil {
			return
		}
		for _, r := range rows {
			if *r.Count < 0 || *r.TotalNS < 0 || len(r.Points) == 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// fakeProf is a kernel with LOCK_PROFILING.
type fakeProf struct {
	ints  map[string]int32
	stats string
	log   []string
	deny  bool
	loses int32 // records rejected while it profiles

	tick, printed int // of the clock; in which the rows were printed last
}

// Once prints each row in the first reading of a tick alone, whatever came of
// that reading.
func (f *fakeProf) Once(name string, room int) (string, error) {
	f.log = append(f.log, "read stats")
	if name != prof+"stats" || f.ints[prof+"enable"] != 0 {
		return "", errors.New("another variable, or read while profiling")
	}
	text := f.stats
	if f.printed == f.tick {
		text = strings.Join(strings.SplitAfter(text, "\n")[:2], "")
	}
	f.printed = f.tick
	if len(text) > room {
		return "", fmt.Errorf("%s: %w", name, errRoom)
	}
	return text, nil
}

func (f *fakeProf) Get(name string) (string, error) {
	v, ok := f.ints[name]
	if !ok {
		return "", fmt.Errorf("%s: %w", name, sysctl.ErrNotExist)
	}
	return fmt.Sprint(v), nil
}

func (f *fakeProf) Names(string) ([]string, error) { return slices.Sorted(maps.Keys(f.ints)), nil }

func (f *fakeProf) Set(name string, v int32) error {
	if f.deny {
		return errors.New("operation not permitted")
	}
	f.log = append(f.log, fmt.Sprintf("%s=%d", strings.TrimPrefix(name, prof), v))
	f.ints[name] = v
	if name == prof+"enable" && v == 0 && slices.Contains(f.log, "enable=1") {
		f.ints[prof+"rejected"] += f.loses
		f.loses = 0
	}
	return nil
}

func newFakeProf(t *testing.T) *fakeProf {
	return &fakeProf{tick: 1, stats: recordedProf(t, "lock_prof_stats.ule.contend.txt"), ints: map[string]int32{
		"hw.ncpu": 8, prof + "enable": 0, prof + "reset": 0, prof + "rejected": 3, prof + "contested_only": 0, prof + "skipspin": 1,
	}}
}

func TestLockProfSource(t *testing.T) {
	for _, contested := range []bool{false, true} {
		f := newFakeProf(t)
		f.loses = 2 // beside 3 before
		l := newLockProf(f, contested)
		if err := l.Probe(); err != nil {
			t.Fatal(err)
		}
		for _, step := range []func() error{func() error { return l.Start(Target{}) }, l.Open, l.Close} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := l.Stop()
		if err != nil {
			t.Fatal(err)
		}
		want := "enable=0 enable=0 contested_only=0 skipspin=0 reset=1 enable=1 enable=0 read stats contested_only=0 skipspin=1 enable=0"
		if contested {
			want = strings.Replace(want, "contested_only=0", "contested_only=1", 1)
		}
		if have := strings.Join(f.log, " "); have != want {
			t.Errorf("the kernel was told\n%s, want\n%s", have, want)
		}
		inst := l.Instrument()
		if inst.Lost == nil || *inst.Lost != 2 || inst.CPUs != 8 || len(inst.Blind) == 0 {
			t.Errorf("instrument %+v", inst)
		}
		for _, r := range rows {
			if *r.Count == 0 && *r.TotalNS == 0 {
				t.Errorf("%s is a row without a wait", r.Site)
			}
			if (r.Acquired == nil) != contested {
				t.Errorf("%s: acquired %v with contested_only %v", r.Site, r.Acquired, contested)
			}
		}
		if len(rows) == 0 {
			t.Error("no rows")
		}
	}
}

// A table that has no room at once is read again, and not within the tick.
func TestLockProfRoom(t *testing.T) {
	f := newFakeProf(t)
	header, row, _ := strings.Cut(strings.TrimRight(f.stats, "\n\x00")[1:], "\n")
	for len(f.stats) <= statsRoom {
		f.stats += row + "\n"
	}
	l := newLockProf(f, false)
	l.pause = func(d time.Duration) { f.tick += int(d / (125 * time.Millisecond)) }
	text, err := l.stats()
	if err != nil || len(text) != len(f.stats) {
		t.Errorf("%d of %d bytes, %v", len(text), len(f.stats), err)
	}
	if log := strings.Join(f.log, " "); log != "read stats read stats" {
		t.Errorf("it was asked for %s", log)
	}
	// So it goes who reads twice at once.
	if text, err := f.Once(prof+"stats", statsRoomMax); err != nil || strings.TrimSpace(text) != strings.TrimSpace(header) {
		t.Errorf("%.100q, %v", text, err)
	}
}

func TestLockProfAbsentOrRefused(t *testing.T) {
	absent := newLockProf(&fakeProf{ints: map[string]int32{}}, false)
	if err := absent.Probe(); err == nil || !strings.Contains(err.Error(), "LOCK_PROFILING") {
		t.Errorf("without the kernel's option: %v", err)
	}
	f := newFakeProf(t)
	f.deny = true
	if err := newLockProf(f, false).Probe(); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("without the right: %v", err)
	}
}
