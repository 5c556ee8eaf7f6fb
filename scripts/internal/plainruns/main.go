// Command plainruns asks whether the plain runs of an instrumented session are as
// fast as those of an uninstrumented one: sessions of both kinds, by turns.
//
//	plainruns -udsbench FILE [-pairs N] [-runs N] [-window D] [-flags FLAGS] [-instrument VALUE] [-watched]
//
// A pair is one session of each, next to each other, the first of them changing;
// what one pair gives is the ratio of the two sessions' geometric means, and the
// interval is Student's over the pairs. The exit status is 1 where an interval lies
// wholly outside 2 % around 1, 3 where the machine is too noisy to say, 2 for
// what could not be measured.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"udsbench/compare"
	"udsbench/plan"
	"udsbench/record"
)

const (
	band  = 0.02 // of the ratio, either way
	noisy = 0.05 // half an interval's width above which it tells nothing
)

type options struct {
	udsbench, instrument, flags, window string
	pairs, runs                         int
	watched                             bool // the instrumented runs in place of the plain ones: the check must fail
}

func main() {
	var o options
	flag.StringVar(&o.udsbench, "udsbench", "", "the program")
	flag.StringVar(&o.instrument, "instrument", "locks", "what the instrumented sessions look at")
	flag.StringVar(&o.flags, "flags", "--workload pingpong,fanin-shared --parallel 4 --placement same-cpu", "what is measured: workers on one CPU vary least")
	flag.StringVar(&o.window, "window", "300ms", "length of a measurement")
	flag.IntVar(&o.pairs, "pairs", 10, "pairs of sessions, 3 or more")
	flag.IntVar(&o.runs, "runs", 3, "plain runs of each cell in a session")
	flag.BoolVar(&o.watched, "watched", false, "take the instrumented runs for the plain ones, to see that the check can fail (with -instrument sched+stacks)")
	flag.Parse()
	if o.pairs < 3 || o.runs < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "plain-runs: -pairs must be 3 or more, -runs 1 or more, and nothing follows the flags")
		os.Exit(2)
	}
	status, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain-runs:", err)
		os.Exit(2)
	}
	os.Exit(status)
}

// sides are the logarithms of the sessions' means in one cell, by pair: of the
// session without instrument, then of the one with.
type sides struct {
	cell  record.Cell
	pairs map[int]*[2]float64
}

// whole gives those pairs of which both sessions have a mean.
func (s *sides) whole() (plain, instrumented []float64) {
	for _, pair := range slices.Sorted(maps.Keys(s.pairs)) {
		if p := s.pairs[pair]; p[0] != 0 && p[1] != 0 {
			plain, instrumented = append(plain, p[0]), append(instrumented, p[1])
		}
	}
	return plain, instrumented
}

func run(o options) (status int, err error) {
	dir, err := os.MkdirTemp("", "udsbench-plain")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(dir)
	var cells []*sides
	byCell := map[string]*sides{}
	for pair := range o.pairs {
		for turn := range 2 {
			instrumented := (pair+turn)%2 == 0
			means, err := session(o, filepath.Join(dir, "session"), pair, instrumented)
			if err != nil {
				return 2, err
			}
			for _, m := range means {
				key := plan.Key(m.cell)
				s := byCell[key]
				if s == nil {
					s = &sides{cell: m.cell, pairs: map[int]*[2]float64{}}
					byCell[key] = s
					cells = append(cells, s)
				}
				if s.pairs[pair] == nil {
					s.pairs[pair] = &[2]float64{}
				}
				if instrumented {
					s.pairs[pair][1] = m.log
				} else {
					s.pairs[pair][0] = m.log
				}
			}
		}
	}
	what := "plain runs"
	if o.watched {
		what = "instrumented runs"
	}
	fmt.Printf("%s of sessions with --instrument %s against plain runs of sessions without: %d pairs of sessions, %d runs of %s in each\n", what, o.instrument, o.pairs, o.runs, o.window)
	for _, s := range cells {
		plain, watched := s.whole()
		d := compare.Pairs(plain, watched, false)
		if d == nil || len(plain) < 3 {
			fmt.Printf("  %-34s runs failed: %d pairs are left\n", label(s.cell), len(plain))
			if status == 0 {
				status = 3
			}
			continue
		}
		ratio, lo, hi := d.Ratio()
		said, worse := verdict(lo, hi)
		if status == 0 || worse == 1 {
			status = worse
		}
		fmt.Printf("  %-34s %.0f and %.0f ops/s (medians of %d), ratio %.4f, 95 %% interval %.4f to %.4f  %s\n", label(s.cell), medianOf(watched), medianOf(plain), len(plain), ratio, lo, hi, said)
	}
	return status, nil
}

// verdict reads an interval, and gives the exit status that goes with it.
func verdict(lo, hi float64) (said string, status int) {
	switch {
	case hi-lo > 2*noisy: // on such a machine one side has met with something that the other has not
		return "the machine is too noisy to tell", 3
	case hi < 1-band:
		return fmt.Sprintf("SLOWER by more than %.0f %%", 100*band), 1
	case lo > 1+band:
		return fmt.Sprintf("FASTER by more than %.0f %%", 100*band), 1
	case lo >= 1-band && hi <= 1+band:
		return fmt.Sprintf("ok: within %.0f %%", 100*band), 0
	}
	return fmt.Sprintf("ok: not shown to differ by %.0f %%", 100*band), 0
}

func label(c record.Cell) string {
	return fmt.Sprintf("%s, %s, parallel %d", c.Workload, c.Transport, c.Parallel)
}

func medianOf(logs []float64) float64 {
	v := slices.Sorted(slices.Values(logs))
	n := len(v)
	return math.Exp((v[n/2] + v[(n-1)/2]) / 2)
}

// mean is a session's in one cell.
type mean struct {
	cell record.Cell
	log  float64 // of the geometric mean of operations a second
}

// session measures once and gives the mean of the runs that count, by cell.
func session(o options, out string, seed int, instrumented bool) ([]mean, error) {
	defer os.RemoveAll(out)
	args := append([]string{"run", "--json", "--runs", strconv.Itoa(o.runs), "--window", o.window, "--warmup", "100ms", "--seed", strconv.Itoa(seed + 1), "--out", out}, strings.Fields(o.flags)...)
	kind := record.Timed
	if instrumented {
		args = append(args, "--instrument", o.instrument)
		if o.watched {
			kind = record.Instrumented
		}
	}
	c := exec.Command(o.udsbench, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: a run failed, which is in its record
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	var means []mean
	logs := map[string][]float64{}
	looked := false
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var r record.Run
		if err := dec.Decode(&r); err != nil {
			return nil, err
		}
		looked = looked || len(r.Instruments) > 0
		if r.Kind != kind || r.OpsPerS == nil {
			continue
		}
		key := plan.Key(r.Cell)
		if logs[key] == nil {
			means = append(means, mean{cell: r.Cell})
		}
		logs[key] = append(logs[key], math.Log(*r.OpsPerS))
	}
	if instrumented && !looked {
		return nil, fmt.Errorf("--instrument %s looked at nothing here: there is nothing to compare", o.instrument)
	}
	for i := range means {
		v := logs[plan.Key(means[i].cell)]
		for _, x := range v {
			means[i].log += x / float64(len(v))
		}
	}
	return means, nil
}
