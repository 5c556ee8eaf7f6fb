package lockwait

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"udsbench/record"
	"udsbench/sysctl"
)

// Sysctl is FreeBSD's system variables, read and set.
type Sysctl interface {
	sysctl.Reader
	Set(name string, value int32) error
	// Once reads a text of at most room bytes in a single call. It is errRoom
	// where the text is longer.
	Once(name string, room int) (string, error)
}

// errRoom says that a variable's text is longer than the room for it.
var errRoom = errors.New("longer than the room for it")

// lockprofColumns are the columns of debug.lock.prof.stats, LOCK_PROFILING(9),
// sys/kern/subr_lock.c. Times are microseconds.
var lockprofColumns = []string{"max", "wait_max", "total", "wait_total", "count", "avg", "wait_avg", "cnt_hold", "cnt_lock"}

// ParseLockProf reads debug.lock.prof.stats. Rows are locks by name, since file
// and line move between kernels; the places are the row's Points, by summed
// wait. Count is cnt_lock: acquisitions that found the lock taken.
func ParseLockProf(text string) ([]Row, error) {
	type key struct{ class, name string }
	byKey := map[key]*Row{}
	var order []key
	header := false
	for i, line := range strings.Split(strings.TrimRight(text, "\x00"), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "debug.lock.prof.stats:" {
			continue
		}
		if !header {
			if !slices.Equal(fields, append(slices.Clone(lockprofColumns), "name")) {
				return nil, fmt.Errorf("debug.lock.prof.stats line %d: %q is not the columns %v", i+1, line, lockprofColumns)
			}
			header = true
			continue
		}
		n := len(lockprofColumns)
		if len(fields) < n+2 {
			return nil, fmt.Errorf("debug.lock.prof.stats line %d: %q has not %d numbers, a place and a lock", i+1, line, n)
		}
		values := map[string]float64{}
		for j, c := range lockprofColumns {
			v, err := strconv.ParseInt(fields[j], 10, 64)
			if err != nil || v < 0 || v > 1<<52 {
				return nil, fmt.Errorf("debug.lock.prof.stats line %d: %s is %q", i+1, c, fields[j])
			}
			values[c] = float64(v)
		}
		at := fields[n]
		lock := strings.Join(fields[n+1:], " ")
		class, name, ok := strings.Cut(strings.TrimPrefix(lock, "("), ":")
		if !ok || lock[0] != '(' || !strings.HasSuffix(name, ")") {
			return nil, fmt.Errorf("debug.lock.prof.stats line %d: %q is not (class:lock)", i+1, lock)
		}
		k := key{class, strings.TrimSuffix(name, ")")}
		row := byKey[k]
		if row == nil {
			row = &Row{Site: k.name, Kind: k.class, Where: record.InSystem, Source: "lockprof", Columns: map[string]float64{}}
			byKey[k] = row
			order = append(order, k)
		}
		for c, v := range values {
			switch c {
			case "max", "wait_max":
				row.Columns[c] = max(row.Columns[c], v)
			case "avg", "wait_avg": // of the sums, below
			default:
				row.Columns[c] += v
			}
		}
		row.Points = append(row.Points, record.LockPoint{At: at, Count: int64(values["cnt_lock"]), TotalNS: microseconds(values["wait_total"])})
	}
	if !header {
		return nil, errors.New("debug.lock.prof.stats: no header, so no statistics")
	}
	rows := make([]Row, 0, len(order))
	for _, k := range order {
		row := byKey[k]
		slices.SortStableFunc(row.Points, func(a, b record.LockPoint) int { return cmp.Compare(*b.TotalNS, *a.TotalNS) })
		var files []string
		for _, p := range row.Points {
			f, _, _ := strings.Cut(p.At, ":")
			files = append(files, f)
		}
		row.Class = classOfLock(row.Site, files...)
		count, acquired := int64(row.Columns["cnt_lock"]), int64(row.Columns["count"])
		row.Count, row.Acquired = &count, &acquired
		row.TotalNS = microseconds(row.Columns["wait_total"])
		row.MaxNS = microseconds(row.Columns["wait_max"])
		if acquired > 0 {
			row.Columns["avg"] = row.Columns["total"] / row.Columns["count"]
			row.Columns["wait_avg"] = row.Columns["wait_total"] / row.Columns["count"]
		}
		// Hard-wired to 0 in the kernels read: not a count.
		if row.Columns["cnt_hold"] == 0 {
			delete(row.Columns, "cnt_hold")
		}
		rows = append(rows, *row)
	}
	SortRows(rows)
	return rows, nil
}

// lockprof uses debug.lock.prof.* of a kernel with LOCK_PROFILING. It counts
// for the whole machine.
type lockprof struct {
	sys       Sysctl
	contested bool // count contested acquisitions only: cheaper
	pause     func(time.Duration)
	was       map[string]int64
	rejected  int64 // records that the kernel had lost before the window; -1 unknown
	rows      []Row
	opened    time.Time
	done      bool
	err       error
	inst      record.Instrument
}

const prof = "debug.lock.prof."

// ncpu is the number of the machine's CPUs; 0 where it is not known.
func ncpu(sys sysctl.Reader) int {
	n, err := sysctl.Int(sys, "hw.ncpu")
	if err != nil {
		return 0
	}
	return int(n)
}

func newLockProf(sys Sysctl, contested bool) *lockprof {
	return &lockprof{sys: sys, contested: contested, pause: time.Sleep}
}

func (l *lockprof) Name() string { return "lockprof" }

func (l *lockprof) Probe() error {
	enabled, err := sysctl.Int(l.sys, prof+"enable")
	if errors.Is(err, sysctl.ErrNotExist) {
		return errors.New("no debug.lock.prof: the kernel needs options LOCK_PROFILING")
	}
	if err != nil {
		return err
	}
	// Setting what it is already changes nothing, and tells whether we may.
	if err := l.sys.Set(prof+"enable", int32(enabled)); err != nil {
		return fmt.Errorf("debug.lock.prof.enable cannot be set (needs root, outside of a jail): %w", err)
	}
	return nil
}

func (l *lockprof) Start(Target) error {
	l.inst = record.Instrument{Name: "locks", Source: l.Name(), Diagnose: true}
	l.inst.CPUs = ncpu(l.sys)
	// Every knob as it was, to be put back; kernels differ in which they have.
	l.was = map[string]int64{}
	for _, k := range []string{"enable", "contested_only", "skipspin", "skipcount"} {
		v, err := sysctl.Int(l.sys, prof+k)
		if errors.Is(err, sysctl.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		l.was[k] = v
	}
	want := map[string]int32{"enable": 0, "contested_only": 0, "skipspin": 0, "skipcount": 1}
	if l.contested {
		want["contested_only"] = 1
		if _, ok := l.was["contested_only"]; !ok {
			l.inst.Notes = append(l.inst.Notes, "this kernel has no debug.lock.prof.contested_only: all acquisitions are profiled")
			l.contested = false
		}
	}
	for _, k := range []string{"enable", "contested_only", "skipspin", "skipcount"} {
		if _, ok := l.was[k]; ok {
			if err := l.sys.Set(prof+k, want[k]); err != nil {
				return err
			}
		}
	}
	return l.sys.Set(prof+"reset", 1)
}

// Open switches it on. That alone resets the statistics, which takes its time
// (enable_lock_prof in sys/kern/subr_lock.c): the window begins when it is done.
func (l *lockprof) Open() error {
	// It counts since boot: no reset clears it.
	l.rejected = -1
	if n, err := sysctl.Int(l.sys, prof+"rejected"); err == nil {
		l.rejected = n
	}
	if err := l.sys.Set(prof+"enable", 1); err != nil {
		return err
	}
	l.opened = time.Now()
	return nil
}

func (l *lockprof) Close() error {
	if l.done || l.opened.IsZero() {
		return l.err
	}
	l.done = true
	window := int64(time.Since(l.opened))
	l.inst.WindowNS = &window
	l.err = l.sys.Set(prof+"enable", 0)
	return l.err
}

func (l *lockprof) Stop() ([]Row, error) {
	err := l.Close()
	if err == nil && l.opened.IsZero() {
		err = fmt.Errorf("lock source %s: the window was never opened", l.Name())
	}
	var rows []Row
	if err == nil {
		rows, err = l.read()
	}
	for _, k := range []string{"contested_only", "skipspin", "skipcount", "enable"} {
		if v, ok := l.was[k]; ok {
			if serr := l.sys.Set(prof+k, int32(v)); err == nil {
				err = serr
			}
		}
	}
	l.inst.Blind = l.Blind()
	return rows, err
}

func (l *lockprof) read() ([]Row, error) {
	// Lost rows first: reading the statistics must not be able to add any.
	rejected, rerr := sysctl.Int(l.sys, prof+"rejected")
	text, err := l.stats()
	if err != nil {
		return nil, err
	}
	rows, err := ParseLockProf(text)
	if err != nil {
		return nil, err
	}
	if lost := rejected - l.rejected; rerr == nil && l.rejected >= 0 && lost >= 0 {
		l.inst.Lost = &lost
		if lost > 0 {
			l.inst.Notes = append(l.inst.Notes, fmt.Sprintf("%d records were rejected by the kernel for want of room: rows are missing", lost))
		}
	} else {
		l.inst.Notes = append(l.inst.Notes, "whether the kernel rejected records is not available: debug.lock.prof.rejected cannot be read")
	}
	var seen []Row
	for _, r := range rows {
		if l.contested {
			r.Acquired = nil // contested ones only: not all acquisitions
			delete(r.Columns, "count")
		}
		if *r.Count > 0 || *r.TotalNS > 0 {
			seen = append(seen, r)
		}
	}
	return seen, nil
}

// The kernel marks each row with the tick in which it printed it and leaves out
// rows that have this tick's mark already (lock_prof_type_stats in
// sys/kern/subr_lock.c): a second reading within a tick gives a table that has a
// header and no rows. So that the size must not be asked for first, as reading a
// text usually does.
const (
	statsRoom    = 1 << 20                // some 8,000 rows
	statsRoomMax = 64 << 20               //
	statsPause   = 300 * time.Millisecond // over two ticks of the longest: kern.hz is 8 or more
)

// stats reads the table: at once, or else again when the tick is surely over.
func (l *lockprof) stats() (string, error) {
	for room := statsRoom; ; room *= 4 {
		text, err := l.sys.Once(prof+"stats", room)
		if !errors.Is(err, errRoom) || room >= statsRoomMax {
			return text, err
		}
		l.pause(statsPause)
	}
}

func (l *lockprof) Blind() []string {
	out := []string{
		"who waited: it counts for the whole machine, by name of lock, not by lock",
		"how often a lock was waited for while held (cnt_hold): this kernel does not count it",
		"a row's last microsecond: its sums are cut to whole ones",
		"waits that end after the window: a wait is noted when the lock is had, and charged when it is released",
	}
	if l.contested {
		out = append(out, "acquisitions without a wait, and true mean hold times (contested_only)")
	}
	return append(out, bouncing)
}

func (l *lockprof) Instrument() record.Instrument { return l.inst }
