package importer

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// super-smack prints for each run a line of connection times, in whole
// milliseconds, then a table with one row for each kind of query:
//
//	connect: max=4ms  min=1ms avg= 3ms from 10 clients
//	Query_type      num_queries     max_time        min_time        q_per_s
//	select_index    200000  0       0       20405.86
//
// Its times are truncated to milliseconds, so an average may lie above the
// maximum. Several runs in one file may stand under titles, as "=== title ===",
// which become the parameter "section"; the parts of a title joined by " + ", as
// "=== 4BSD + libthr ===", become "section.1", "section.2", so that each can be
// a factor. Comments (#) over the runs are titles where they differ.
var (
	smackConnect = regexp.MustCompile(`^connect:\s*max=\s*(\d+)ms\s+min=\s*(\d+)ms\s+avg=\s*(\d+)ms\s+from\s+(\d+)\s+clients`)
	smackHeader  = regexp.MustCompile(`^Query_type\s+num_queries\s+max_time\s+min_time\s+q_per_s\s*$`)
	smackTitle   = regexp.MustCompile(`^===\s*(.*?)\s*===$`)
)

func isSuperSmack(text []byte) bool {
	return bytes.Contains(text, []byte("Query_type")) && bytes.Contains(text, []byte("q_per_s"))
}

func readSuperSmack(s *Set, text []byte, _ Options) error {
	var (
		connect *record.Spread
		clients int // of the last connect line: a run without one had as many
		section string
		remark  string
		inTable bool
	)
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if m := smackTitle.FindStringSubmatch(line); m != nil {
			section, connect, clients, inTable = m[1], nil, 0, false
			continue
		}
		if c, ok := comment(line); ok {
			remark, inTable = c, false
			continue
		}
		if m := smackConnect.FindStringSubmatch(line); m != nil {
			v, err := integers(m[1:])
			if err != nil || v[3] < 1 || v[3] > plan.MaxParallel {
				return fmt.Errorf("line %d: a number is out of range", n)
			}
			connect = &record.Spread{Max: v[0] * 1e6, Min: v[1] * 1e6, Avg: float64(v[2]) * 1e6}
			clients, inTable = int(v[3]), false
			continue
		}
		if smackHeader.MatchString(line) {
			inTable = true
			continue
		}
		f := strings.Fields(line)
		if !inTable || len(f) != 5 {
			// Between tables stand titles, "Run #1" and what time(1) says.
			if len(f) > 0 {
				if inTable {
					connect = nil
				}
				inTable = false
			}
			continue
		}
		q, err := rate(f[4])
		if err != nil {
			return fmt.Errorf("line %d: q_per_s: %w", n, err)
		}
		queries, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return fmt.Errorf("line %d: num_queries %q is not a number", n, f[1])
		}
		c := emptyCell(f[0])
		c.Parallel = clients
		c.Params["queries"] = f[1]
		switch parts := strings.Split(section, " + "); {
		case len(parts) > 1:
			for i, part := range parts {
				c.Params[fmt.Sprintf("section.%d", i+1)] = strings.TrimSpace(part)
			}
		case section != "":
			c.Params["section"] = section
		}
		r := s.add(c, q)
		r.Ops = &queries
		if connect != nil {
			spread := *connect
			r.ConnectNS = &spread
		} else {
			r.Missing("connect_ns", "no connect line stands before this run")
		}
		r.Missing("latency_ns", "super-smack gives whole seconds only")
		if clients == 0 {
			r.Warnings = append(r.Warnings, "the number of clients is not known: no connect line stands before this run")
		}
		if remark != "" {
			r.Warnings = append(r.Warnings, remark) // last: see titled
		}
	}
	titled(s)
	return sc.Err()
}

// titled takes comments for titles where each run stands under one and they
// differ: what was written over a run tells it from the others.
func titled(s *Set) {
	over := func(r *record.Run) string {
		if len(r.Warnings) == 0 || r.Cell.Params["section"] != "" || r.Cell.Params["section.1"] != "" {
			return ""
		}
		return r.Warnings[len(r.Warnings)-1]
	}
	titles := map[string]bool{}
	for i := range s.Runs {
		titles[over(&s.Runs[i])] = true
	}
	if len(titles) < 2 || titles[""] {
		return
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		r.Cell.Params["section"] = over(r)
		r.Warnings = r.Warnings[:len(r.Warnings)-1]
	}
}

func integers(texts []string) ([]int64, error) {
	vs := make([]int64, len(texts))
	for i, t := range texts {
		v, err := strconv.ParseInt(t, 10, 40)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}
