// Command scale prints how udsbench bears many workers: how soon they are
// ready, what memory each takes, what the coordinator uses while the window is
// open. Linux only.
//
//	scale -udsbench FILE
//
// The exit status is 1 where a limit is passed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/runner"
)

const mib = 1 << 20

func main() { os.Exit(run()) }

func run() int {
	exe := flag.String("udsbench", "", "the udsbench binary")
	flag.Parse()
	status := 0
	say := func(ok bool, format string, args ...any) {
		verdict := "ok"
		if !ok {
			verdict, status = "OVER", 1
		}
		fmt.Printf("%-4s %s\n", verdict, fmt.Sprintf(format, args...))
	}
	for _, c := range []struct {
		pairs int
		ready time.Duration
	}{{100, 2 * time.Second}, {1000, 25 * time.Second}} {
		cell := pingpong.Catalogue{}.Fill(record.Cell{Workload: "pingpong", Transport: "unix-stream", Model: "process",
			Parallel: c.pairs, Request: -1, Response: -1})
		if err := runner.CheckLimits(cell); err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			return 2
		}
		memory := make(chan sizes, 1)
		var pids []int
		rec, err := runner.Run(context.Background(), cell, runner.Options{
			Window: 2 * time.Second, Warmup: 200 * time.Millisecond, Slice: 100 * time.Millisecond, Exe: *exe,
			Started: func(p []int) { pids = p },
			Turned: func(phase uint32) {
				if phase == pingpong.PhaseCool { // after the window: reading takes time
					memory <- measure(pids)
				}
			},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			return 1
		}
		if rec.Status != record.OK {
			say(false, "%d pairs: %v", c.pairs, rec.Error)
			continue
		}
		ready := time.Duration(*rec.ReadyNS)
		say(ready <= c.ready, "%d pairs as %d processes ready in %v, at most %v", c.pairs, 2*c.pairs, ready.Round(time.Millisecond), c.ready)
		m := <-memory
		say(m.private <= 4*mib, "%d pairs: private memory of a worker: median %.2f MiB, most %.2f, at most 4", c.pairs, float64(m.median)/mib, float64(m.private)/mib)
		if c.pairs == 100 {
			say(m.pss <= 4*mib, "%d pairs: PSS of a worker: most %.2f MiB, at most 4", c.pairs, float64(m.pss)/mib)
		}
		share := float64(*rec.CoordCPUNS) / 1e9 / *rec.WindowS * 100
		say(share < 1, "%d pairs: coordinator used %.3f %% of one CPU while the window was open, under 1 %%", c.pairs, share)
		fmt.Printf("     %d pairs: %.0f op/s, start skew %v, longest reading of all counters %v\n", c.pairs, *rec.OpsPerS,
			time.Duration(*rec.StartSkewNS).Round(time.Microsecond), time.Duration(*rec.ScanNS).Round(time.Microsecond))
		for _, w := range rec.Warnings {
			fmt.Printf("     %d pairs: %s\n", c.pairs, w)
		}
	}
	return status
}

// sizes are in bytes, the greatest of all workers; median is of the private ones.
type sizes struct{ private, median, pss uint64 }

func measure(pids []int) (s sizes) {
	var all []uint64
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue
		}
		m, err := p.ProcSMapsRollup()
		if err != nil {
			continue
		}
		private := m.PrivateClean + m.PrivateDirty
		all = append(all, private)
		s.private, s.pss = max(s.private, private), max(s.pss, m.Pss)
	}
	slices.Sort(all)
	if len(all) > 0 {
		s.median = all[len(all)/2]
	}
	return s
}
