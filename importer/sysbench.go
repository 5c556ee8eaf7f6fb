package importer

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"udsbench/plan"
)

// sysbench (0.5 and 1.0) prints one report a run. Its rate is taken over its
// own total time: of transactions where there are any, else of events.
var (
	sysbenchStart    = regexp.MustCompile(`^sysbench (\d\S*)`)
	sysbenchThreads  = regexp.MustCompile(`^Number of threads: (\d+)`)
	sysbenchInterval = regexp.MustCompile(`^\[\s*(\d+)s\s*\] thds: \d+,? (?:tps|eps): ([0-9.]+)`)
	sysbenchTotal    = regexp.MustCompile(`^total time:\s+([0-9.]+)s`)
	sysbenchEvents   = regexp.MustCompile(`^total number of events:\s+(\d+)`)
	sysbenchTrans    = regexp.MustCompile(`^transactions:\s+(\d+)\s+\(([0-9.]+) per sec\.\)`)
)

func isSysbench(text []byte) bool {
	return sysbenchStart.Match(text) || bytes.Contains(text, []byte("\nsysbench ")) ||
		bytes.Contains(text, []byte("total number of events:"))
}

// sysbenchRun is one report as far as it has been read.
type sysbenchRun struct {
	threads int
	fatal   string
	total   float64
	events  uint64
	known   bool // events
	trans   float64
	slices  []uint64
	sliceNS []int64
	last    int64 // second of the last interval

}

func readSysbench(s *Set, text []byte, _ Options) error {
	var run *sysbenchRun
	var err error
	flush := func() {
		if run != nil && err == nil {
			err = run.add(s)
		}
		run = nil
	}
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan() && err == nil; n++ {
		line := strings.TrimSpace(sc.Text())
		if sysbenchStart.MatchString(line) {
			flush()
			run = &sysbenchRun{}
			continue
		}
		if c, ok := comment(line); ok {
			s.note(c)
			continue
		}
		if run == nil {
			run = &sysbenchRun{} // a report whose first line was cut off
		}
		bad := func(e error) {
			if e != nil {
				err = fmt.Errorf("line %d: %q: a number is out of range", n, line)
			}
		}
		if m := sysbenchThreads.FindStringSubmatch(line); m != nil {
			if run.total > 0 || run.fatal != "" { // the next report, without its first line
				flush()
				run = &sysbenchRun{}
			}
			var e error
			if run.threads, e = strconv.Atoi(m[1]); e != nil || run.threads > plan.MaxParallel {
				bad(strconv.ErrRange)
			}
		} else if m := sysbenchInterval.FindStringSubmatch(line); m != nil {
			at, e1 := strconv.ParseInt(m[1], 10, 32)
			tps, e2 := strconv.ParseFloat(m[2], 64)
			if e1 != nil || e2 != nil || tps > 1e12 {
				bad(strconv.ErrRange)
				continue
			}
			if d := at - run.last; d > 0 {
				run.slices = append(run.slices, uint64(math.Round(tps*float64(d))))
				run.sliceNS = append(run.sliceNS, d*1e9)
				run.last = at
			}
		} else if m := sysbenchTotal.FindStringSubmatch(line); m != nil {
			var e error
			run.total, e = strconv.ParseFloat(m[1], 64)
			bad(e)
		} else if m := sysbenchEvents.FindStringSubmatch(line); m != nil {
			var e error
			run.events, e = strconv.ParseUint(m[1], 10, 63)
			run.known = true
			bad(e)
		} else if m := sysbenchTrans.FindStringSubmatch(line); m != nil {
			var e error
			run.trans, e = strconv.ParseFloat(m[2], 64)
			bad(e)
		} else if what, ok := strings.CutPrefix(line, "FATAL:"); ok && run.fatal == "" {
			run.fatal = strings.TrimSpace(what)
		}
	}
	flush()
	if err == nil {
		err = sc.Err()
	}
	return err
}

func (run *sysbenchRun) add(s *Set) error {
	c := emptyCell("sysbench")
	c.Parallel = run.threads
	switch {
	case run.fatal != "":
		s.addFailed(c, run.fatal)
		return nil
	case run.total <= 0 || !run.known:
		if run.threads > 0 {
			s.addFailed(c, "the report ends before its total: the run was cut short")
		}
		return nil
	case run.events == 0:
		s.addFailed(c, "no event was completed")
		return nil
	}
	x := run.trans
	if x == 0 {
		x = float64(run.events) / run.total
	}
	if !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("%d events in %g s give no rate", run.events, run.total)
	}
	r := s.add(c, x)
	r.Ops, r.WindowS = &run.events, &run.total
	r.Slices, r.SliceNS = run.slices, run.sliceNS
	r.Missing("latency_ns", "sysbench gives least, mean, greatest and one percentile only")
	r.Missing("connect_ns", "sysbench does not time connecting")
	if run.slices == nil {
		r.Missing("slices", "the run had no --report-interval")
	}
	if run.threads == 0 {
		r.Warnings = append(r.Warnings, "the number of threads is not known")
	}
	return nil
}
