package locktable

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"udsbench/lockwait"
	"udsbench/record"
)

// pfsHeader is the first line of a table drawn from MySQL's performance schema
// (events_waits_summary_global_by_event_name), a column for the server before it.
const pfsHeader = "server\tevent_name\tcount_star\tsum_timer_wait_ps"

// IsPFS tells whether text begins as such a table; lines that begin with # are
// remarks.
func IsPFS(text string) bool {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			return strings.TrimRight(line, "\r\n") == pfsHeader
		}
	}
	return false
}

// ReadPFS reads waits of a server's own locks as its performance schema sums
// them: a side for each server, in their order. Times are picoseconds there.
func ReadPFS(r io.Reader) ([]*Side, error) {
	var sides []*Side
	bySide := map[string]*Side{}
	header := false
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimRight(s.Text(), "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if !header {
			if line != pfsHeader {
				return nil, fmt.Errorf("line %d: %q is not the columns %q", n, line, pfsHeader)
			}
			header = true
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("line %d: %d columns, not 4", n, len(f))
		}
		count, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || count < 0 {
			return nil, fmt.Errorf("line %d: count %q", n, f[2])
		}
		ps, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil || ps < 0 {
			return nil, fmt.Errorf("line %d: wait %q", n, f[3])
		}
		// wait/synch/KIND/COMPONENT/NAME
		parts := strings.SplitN(f[1], "/", 5)
		if len(parts) != 5 || parts[0] != "wait" || parts[1] != "synch" || f[0] == "" {
			return nil, fmt.Errorf("line %d: %q is not wait/synch/KIND/COMPONENT/NAME", n, f[1])
		}
		side := bySide[f[0]]
		if side == nil {
			side = &Side{Name: f[0]}
			bySide[f[0]] = side
			sides = append(sides, side)
		}
		total := (ps + 500) / 1000
		row := record.Lock{Site: parts[4], Caller: parts[3], Kind: parts[2], Class: record.ClassUser, Where: record.InWorkers, Source: "performance_schema", Count: &count, TotalNS: &total}
		if slices.ContainsFunc(side.Rows, func(r record.Lock) bool { return keyOf(&r) == keyOf(&row) }) {
			return nil, fmt.Errorf("line %d: %s occurs twice for %s", n, f[1], f[0])
		}
		side.Rows = append(side.Rows, row)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(sides) == 0 {
		return nil, fmt.Errorf("no waits in the table")
	}
	for _, s := range sides {
		lockwait.SortRows(s.Rows)
	}
	return sides, nil
}
