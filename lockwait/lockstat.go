package lockwait

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
)

// errLockdepOff is returned for statistics that lockdep stopped keeping.
var errLockdepOff = errors.New("lock_stat: lock debugging disabled itself (most likely after a lockdep warning, see dmesg): these statistics are not valid; reboot")

// The columns of /proc/lock_stat (Documentation/locking/lockstat.rst,
// kernel/locking/lockdep_proc.c). Version 0.3 has no averages. Times are
// microseconds.
var (
	lockStat4 = []string{"con-bounces", "contentions", "waittime-min", "waittime-max", "waittime-total", "waittime-avg",
		"acq-bounces", "acquisitions", "holdtime-min", "holdtime-max", "holdtime-total", "holdtime-avg"}
	lockStat3 = without(lockStat4, "waittime-avg", "holdtime-avg")
)

func without(all []string, names ...string) (out []string) {
	for _, n := range all {
		if !slices.Contains(names, n) {
			out = append(out, n)
		}
	}
	return out
}

// ParseLockStat reads /proc/lock_stat, version 0.3 or 0.4. A row is a lock
// class, its reading side and its writing side apart; Points are the places
// that waited, Holders those that were waited for, four at the most in each.
// Classes that nobody waited for are rows too: their Count is 0 because the
// kernel counted, and says 0.
func ParseLockStat(r io.Reader) ([]Row, error) {
	var rows []Row
	var class string // of the rows read last
	first, block := 0, 0
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		switch {
		case strings.HasPrefix(line, "*WARNING*"):
			return nil, errLockdepOff
		case strings.HasPrefix(line, "lock_stat version"):
			if v := strings.TrimSpace(strings.TrimPrefix(line, "lock_stat version")); v != "0.3" && v != "0.4" {
				return nil, fmt.Errorf("lock_stat version %s: versions 0.3 and 0.4 are known", v)
			}
			continue
		case line == "" || strings.HasPrefix(line, ".") && strings.Trim(line, ".") == "" || strings.HasPrefix(line, "class name"):
			continue
		case strings.Trim(line, "-") == "":
			block++
			continue
		}
		if i := strings.Index(line, "[<"); i > 0 {
			point, err := lockPoint(line, i, class)
			if err != nil {
				return nil, fmt.Errorf("lock_stat line %d: %w", n, err)
			}
			// Points are of both sides of a class together.
			for j := first; j < len(rows); j++ {
				if block == 1 {
					rows[j].Points = append(rows[j].Points, point)
				} else {
					rows[j].Holders = append(rows[j].Holders, point)
				}
			}
			continue
		}
		row, name, err := lockClass(line)
		if err != nil {
			return nil, fmt.Errorf("lock_stat line %d: %w", n, err)
		}
		if name != class || block > 0 {
			class, first = name, len(rows)
		}
		block = 0
		rows = append(rows, row)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Class = lockStatClass(rows[i])
	}
	SortRows(rows)
	return rows, nil
}

// lockClass reads the row of one class, or of one of its sides.
func lockClass(line string) (Row, string, error) {
	// Names hold blanks, colons and brackets: the row's colon is the last
	// with nothing but numbers after it.
	i := strings.LastIndex(line, ":")
	if i < 1 {
		return Row{}, "", fmt.Errorf("%q is neither a lock class nor a point", line)
	}
	name, fields := strings.TrimSpace(line[:i]), strings.Fields(line[i+1:])
	var columns []string
	switch len(fields) {
	case len(lockStat4):
		columns = lockStat4
	case len(lockStat3):
		columns = lockStat3
	default:
		return Row{}, "", fmt.Errorf("class %q has %d numbers: %d or %d are known", name, len(fields), len(lockStat3), len(lockStat4))
	}
	row := Row{Site: name, Kind: "lock", Where: record.InSystem, Source: "lock_stat", Columns: map[string]float64{}}
	for j, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || v < 0 || v != v || v > 1e18 {
			return Row{}, "", fmt.Errorf("class %q: %s is %q", name, columns[j], f)
		}
		row.Columns[columns[j]] = v
	}
	class := name
	switch {
	case strings.HasSuffix(name, "-W"):
		class, row.Kind = name[:len(name)-2], "lock:write"
	case strings.HasSuffix(name, "-R"):
		class, row.Kind = name[:len(name)-2], "lock:read"
	}
	row.Site = class
	count, acquired := int64(row.Columns["contentions"]), int64(row.Columns["acquisitions"])
	row.Count, row.Acquired = &count, &acquired
	row.TotalNS = microseconds(row.Columns["waittime-total"])
	if count > 0 {
		row.MinNS, row.MaxNS = microseconds(row.Columns["waittime-min"]), microseconds(row.Columns["waittime-max"])
	}
	return row, class, nil
}

func microseconds(v float64) *int64 {
	ns := int64(v*1000 + 0.5)
	return &ns
}

// lockPoint reads one place: class, how often, address, function.
func lockPoint(line string, at int, class string) (record.LockPoint, error) {
	fields := strings.Fields(line[:at])
	if len(fields) < 2 || class == "" {
		return record.LockPoint{}, fmt.Errorf("point %q belongs to no class", line)
	}
	n, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
	if err != nil || n < 0 {
		return record.LockPoint{}, fmt.Errorf("point %q has no count", line)
	}
	_, function, ok := strings.Cut(line[at:], ">]")
	if !ok {
		return record.LockPoint{}, fmt.Errorf("point %q has no address", line)
	}
	return record.LockPoint{At: strings.TrimSpace(function), Count: n}, nil
}

// lockStatClass classes a lock by the functions that wait for it or hold it,
// and else by its name, which often begins like theirs.
func lockStatClass(r Row) string {
	name := strings.TrimLeft(r.Site, "&(")
	for prefix, class := range map[string]string{
		"unix_": record.ClassSocket, "u->": record.ClassSocket, "sk_lock-": record.ClassSocket, "slock-": record.ClassSocket, "sk->": record.ClassSocket, "rlock-AF_UNIX": record.ClassSocket, "rlock-AF": record.ClassSocket, "clock-AF": record.ClassSocket,
		"rq->": record.ClassScheduler, "p->pi_lock": record.ClassScheduler, "files->file_lock": record.ClassDescriptors, "newf->file_lock": record.ClassDescriptors, "ep->": record.ClassDescriptors,
		"mm->": record.ClassMemory, "zone->": record.ClassMemory, "vma->": record.ClassMemory, "n->list_lock": record.ClassMemory, "dentry->": record.ClassVFS, "sb->": record.ClassVFS, "pipe->": record.ClassVFS,
	} {
		if strings.HasPrefix(name, prefix) {
			return class
		}
	}
	for _, points := range [][]record.LockPoint{r.Points, r.Holders} {
		for _, p := range points {
			f, _, _ := strings.Cut(p.At, "+")
			if c := classOfFunctions([]string{f}); c != record.ClassOther {
				return c
			}
		}
	}
	return record.ClassOther
}
