package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"udsbench/record"
	"udsbench/series"
)

var long = flag.Bool("simulate.long", false, "simulate 1,000 comparisons a scenario and print the table of docs/statistics.md")

// noise is how much a simulated machine scatters, as standard deviations of
// logarithms unless it says otherwise.
type noise struct {
	boot   float64 // of each boot, for each cell
	shared float64 // of each boot, for all cells alike
	run    float64 // of each run
	tail   float64 // degrees of freedom of the run's noise: 0 is normal, 3 is heavy
	mode   float64 // probability of a second mode, which is lower by gap
	gap    float64
	modes  string  // whose mode it is: "run" or "boot"
	drift  float64 // of the campaign, from its first boot to its last, straight
	walk   float64 // of the campaign, a step from boot to boot
	within float64 // of a boot's slope from its first run to its last
	cold   float64 // the first run of each boot is lower by this
}

// seen are the levels of noise of real sessions, one for each kind of cell: a
// quiet machine, a shared virtual one, and cells that are bimodal, heavy-
// tailed, drifting or slow at first.
var seen = []noise{
	{boot: 0.005, run: 0.01, shared: 0.003},
	{boot: 0.02, run: 0.04, shared: 0.005, walk: 0.002},
	{boot: 0.01, run: 0.03, tail: 3, shared: 0.003},
	{boot: 0.005, run: 0.01, mode: 0.2, gap: 0.08, modes: "run"},
	{boot: 0.005, run: 0.01, mode: 0.25, gap: 0.05, modes: "boot"},
	{boot: 0.01, run: 0.02, within: 0.02, drift: 0.01},
	{boot: 0.01, run: 0.02, cold: 0.5, tail: 4},
	{boot: 0.02, run: 0.08, tail: 4, shared: 0.005},
}

// scenario is what is simulated over and over.
type scenario struct {
	name        string
	noises      []noise
	cells       int
	boots, runs int                    // boots 0: one boot, with both sides in each of its blocks
	effect      func(cell int) float64 // logarithm of after/before
}

// tally counts what came out of a scenario's comparisons.
type tally struct {
	comparisons, alarms int // with any false alarm
	cells, covered      int
	found               int // moved the right way, of the cells that did move
	wrongSame           int // "same", of the cells that moved by the threshold or more
	moved               int
	decided             int
}

func (s scenario) simulate(n int, seed uint64) tally {
	var t tally
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		in := Input{Sides: s.sides(rng), Threshold: DefaultThreshold, Discard: series.Auto}
		if s.boots == 0 {
			in.Sides, in.Factors, in.Together = s.blocks(rng), []string{"model"}, true
		}
		r, err := Compare(in)
		if err != nil {
			panic(err)
		}
		t.comparisons++
		alarm := false
		for _, c := range r.Cells() {
			truth := s.effect(c.Cell.Request)
			t.cells++
			if c.Diff.Lo <= truth && truth <= c.Diff.Hi {
				t.covered++
			}
			if c.Verdict != Undecided {
				t.decided++
			}
			if truth == 0 {
				alarm = alarm || c.Verdict.Moved()
				continue
			}
			t.moved++
			if c.Verdict == Faster && truth > 0 || c.Verdict == Slower && truth < 0 {
				t.found++
			}
			if c.Verdict == Same && math.Abs(truth) >= math.Log1p(DefaultThreshold)-1e-12 {
				t.wrongSame++
			}
		}
		if alarm {
			t.alarms++
		}
	}
	return t
}

// sides makes a campaign whose boots alternate A B B A.
func (s scenario) sides(rng *rand.Rand) []Side {
	sides := []Side{{Name: "before"}, {Name: "after"}}
	total := 2 * s.boots
	walk := make([]float64, s.cells)
	for b := range total {
		side := []int{0, 1, 1, 0}[b%4]
		if total%4 == 2 && b >= total-2 {
			side = b % 2
		}
		boot := fmt.Sprintf("boot%d", b)
		shared := rng.NormFloat64()
		for c := range s.cells {
			n := s.noises[c%len(s.noises)]
			walk[c] += n.walk * rng.NormFloat64()
			level := 10 + n.shared*shared + n.boot*rng.NormFloat64() + walk[c] + n.drift*float64(b)/float64(total)
			if n.modes == "boot" && rng.Float64() < n.mode {
				level -= n.gap
			}
			slope := n.within * rng.NormFloat64()
			if side == 1 {
				level += s.effect(c)
			}
			for i := range s.runs {
				x := level + slope*(float64(i)/float64(s.runs)-0.5) + n.run*noiseOf(n.tail, rng)
				if n.modes == "run" && rng.Float64() < n.mode {
					x -= n.gap
				}
				if i == 0 {
					x -= n.cold
				}
				rate := math.Exp(x)
				sides[side].Runs = append(sides[side].Runs, record.Run{Session: boot, Boot: boot, Seq: i*s.cells + c, Block: i,
					Kind: record.Timed, Status: record.OK, Cell: record.Cell{Workload: "w", Request: c}, OpsPerS: &rate})
			}
		}
	}
	return sides
}

// blocks makes one session whose blocks hold each cell at both levels, while
// the state of the machine, which all runs share, wanders and drifts.
func (s scenario) blocks(rng *rand.Rand) []Side {
	sides := []Side{{Name: "before"}, {Name: "after"}}
	state := 0.03 * rng.NormFloat64()
	seq := 0
	for block := range s.runs {
		for _, at := range rng.Perm(2 * s.cells) {
			c, side := at/2, at%2
			n := s.noises[c%len(s.noises)]
			state = 0.999*state + 0.03*math.Sqrt(1-0.999*0.999)*rng.NormFloat64()
			x := 10 + state + 0.05*float64(block)/float64(s.runs) + n.run*noiseOf(n.tail, rng) + float64(side)*s.effect(c)
			if n.modes == "run" && rng.Float64() < n.mode {
				x -= n.gap
			}
			rate := math.Exp(x)
			cell := record.Cell{Workload: "w", Request: c, Model: []string{"process", "thread"}[side]}
			sides[side].Runs = append(sides[side].Runs, record.Run{Session: "s", Boot: "b", Seq: seq, Block: block,
				Kind: record.Timed, Status: record.OK, Cell: cell, OpsPerS: &rate})
			seq++
		}
	}
	return sides
}

// noiseOf has standard deviation 1.
func noiseOf(tail float64, rng *rand.Rand) float64 {
	z := rng.NormFloat64()
	if tail == 0 {
		return z
	}
	var chi float64
	for range int(tail) {
		y := rng.NormFloat64()
		chi += y * y
	}
	return z / math.Sqrt(chi/tail) / math.Sqrt(tail/(tail-2))
}

func none(int) float64 { return 0 }

// every gives each cell the same change, up and down in turn.
func every(share float64) func(int) float64 {
	return func(cell int) float64 {
		if cell%2 == 0 {
			return math.Log1p(share)
		}
		return -math.Log1p(share)
	}
}

var quiet = []noise{{boot: 0.01, run: 0.01}}

func TestSimulation(t *testing.T) {
	scenarios := []struct {
		scenario
		short   int // comparisons in the short version
		bounds  string
		checked func(tally) bool
	}{
		{scenario{"A/A, 10 boots × 10 runs", seen, 40, 10, 10, none}, 150, "any false alarm in at most 5 %; covered 93 % to 97 %", func(x tally) bool {
			return fewAlarms(x) && share(x.covered, x.cells) >= 0.93 && share(x.covered, x.cells) <= 0.97
		}},
		{scenario{"A/A, 5 boots × 10 runs", seen, 40, 5, 10, none}, 150, "any false alarm in at most 5 %; covered at least 93 %", func(x tally) bool {
			return fewAlarms(x) && share(x.covered, x.cells) >= 0.93
		}},
		{scenario{"3 % change at 1 % noise, 10 × 10", quiet, 40, 10, 10, every(0.03)}, 20, "found in at least 95 % of cells; covered 93 % to 97 %", func(x tally) bool {
			return share(x.found, x.moved) >= 0.95 && share(x.covered, x.cells) >= 0.93 && share(x.covered, x.cells) <= 0.97
		}},
		{scenario{"2 % change (the threshold) at 1 % noise, 10 × 10", quiet, 40, 10, 10, every(0.02)}, 20, "called same in at most 5 % of cells", func(x tally) bool {
			return share(x.wrongSame, x.moved) <= 0.05
		}},
		{scenario{"2 % change, noise as seen, 10 × 10", seen, 40, 10, 10, every(0.02)}, 20, "called same in at most 5 % of cells", func(x tally) bool {
			return share(x.wrongSame, x.moved) <= 0.05
		}},
		{scenario{"5 % change, noise as seen, 10 × 10", seen, 40, 10, 10, every(0.05)}, 20, "covered 93 % to 97 %", func(x tally) bool {
			return share(x.covered, x.cells) >= 0.93 && share(x.covered, x.cells) <= 0.97
		}},
		{scenario{"A/A within one boot, 10 blocks, machine wandering", seen, 40, 0, 10, none}, 60, "any false alarm in at most 5 %; covered at least 93 %", func(x tally) bool {
			return fewAlarms(x) && share(x.covered, x.cells) >= 0.93
		}},
		{scenario{"A/A within one boot, 30 blocks, machine wandering", seen, 40, 0, 30, none}, 30, "any false alarm in at most 5 %; covered at least 93 %", func(x tally) bool {
			return fewAlarms(x) && share(x.covered, x.cells) >= 0.93
		}},
	}
	table := [][]string{{"scenario", "comparisons of 40", "any false alarm", "covered", "found", "wrongly same", "decided", "asked for", "holds"}}
	for i, s := range scenarios {
		n := s.short
		if *long {
			n = 1000
		}
		start := time.Now()
		x := s.simulate(n, uint64(i+1))
		ok := s.checked(x)
		row := []string{s.name, strconv.Itoa(n), "-", pc(x.covered, x.cells), "-", "-", pc(x.decided, x.cells), s.bounds, yes(ok)}
		if x.moved == 0 {
			row[2] = pc(x.alarms, x.comparisons)
		} else {
			row[4], row[5] = pc(x.found, x.moved), pc(x.wrongSame, x.moved)
		}
		table = append(table, row)
		if !ok {
			t.Errorf("%s: %v", s.name, row)
		}
		t.Logf("%v in %.1f s", row, time.Since(start).Seconds())
	}
	if *long {
		for i, row := range table {
			fmt.Println("| " + strings.Join(row, " | ") + " |")
			if i == 0 {
				fmt.Println("|" + strings.Repeat("---|", len(row)))
			}
		}
		kinds()
	}
}

// kinds prints coverage for each kind of noise by itself.
func kinds() {
	fmt.Println("\n| noise alone (A/A) | covered, 10 boots | covered, 5 boots | any false alarm in 40, 10 boots |\n|---|---|---|---|")
	for _, n := range seen {
		one := scenario{cells: 40, runs: 10, noises: []noise{n}, effect: none}
		one.boots = 10
		ten := one.simulate(100, 77)
		one.boots = 5
		five := one.simulate(100, 78)
		fmt.Printf("| %s | %s | %s | %s |\n", n.text(), pc(ten.covered, ten.cells), pc(five.covered, five.cells), pc(ten.alarms, ten.comparisons))
	}
}

func (n noise) text() string {
	t := fmt.Sprintf("boot %s, run %s", percent(n.boot), percent(n.run))
	if n.tail > 0 {
		t += fmt.Sprintf(", heavy tails (t%g)", n.tail)
	}
	if n.mode > 0 {
		t += fmt.Sprintf(", %s of %ss %s lower", percent(n.mode), n.modes, percent(n.gap))
	}
	if n.within > 0 {
		t += ", drift within boots"
	}
	if n.walk > 0 || n.drift > 0 {
		t += ", drift over boots"
	}
	if n.cold > 0 {
		t += ", slow first run"
	}
	return t
}

// fewAlarms allows a short simulation what chance gives it: two standard
// deviations over 5 %.
func fewAlarms(x tally) bool {
	limit := 0.05
	if !*long {
		limit += 2 * math.Sqrt(0.05*0.95/float64(x.comparisons))
	}
	return share(x.alarms, x.comparisons) <= limit
}

func share(a, b int) float64 { return float64(a) / float64(b) }

func pc(a, b int) string { return fmt.Sprintf("%.1f %%", 100*share(a, b)) }
