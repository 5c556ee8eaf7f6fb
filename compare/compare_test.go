package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
	"pgregory.net/rapid"

	"udsbench/importer"
	"udsbench/record"
	"udsbench/series"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// cell is a measured cell.
func cell(workload, transport string, parallel int) record.Cell {
	return record.Cell{Workload: workload, Transport: transport, Address: "path", Parallel: parallel, Model: "process", ServerModel: "process",
		Placement: "free", Policy: "inherit", Request: 64, Response: 64, Clock: "vdso"}
}

// campaign makes boots × runs of each cell with 1 % noise at both levels;
// level gives the logarithm of the rate.
func campaign(seed uint64, name string, boots, runs int, cells []record.Cell, level func(record.Cell) float64) []record.Run {
	rng := rand.New(rand.NewPCG(seed, 0))
	var all []record.Run
	for b := range boots {
		for i := range runs {
			for n, c := range cells {
				boot := rand.New(rand.NewPCG(seed+uint64(b), uint64(n))).NormFloat64()
				rate := math.Exp(level(c) + 0.01*boot + 0.01*rng.NormFloat64())
				all = append(all, record.Run{Session: fmt.Sprintf("%s%d", name, b), Boot: fmt.Sprintf("%s%d", name, b), Seq: i*len(cells) + n, Block: i,
					Kind: record.Timed, Status: record.OK, Cell: c, OpsPerS: &rate})
			}
		}
	}
	return all
}

func imported(t *testing.T, path string) []Source {
	t.Helper()
	sets, err := importer.Open(path, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return []Source{{Name: sets[0].Name, Runs: sets[0].Runs, Notes: sets[0].Notes}}
}

func byFactor(t *testing.T, sources []Source, factor string, levels ...string) *Result {
	t.Helper()
	sides, err := Split(sources, factor, levels)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compare(Input{Sides: sides, Threshold: DefaultThreshold, Discard: series.Auto, Factors: []string{factor}, Together: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func table(t *testing.T, r *Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteTable(&b, 120); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The locking patch of May 2006: two runs each, averaged to one figure.
func TestLockingPatchOf2006(t *testing.T) {
	sources := imported(t, "../importer/testdata/csv/smack-matrix-2006-05.tsv")
	var err error
	if sources[0].Runs, err = Where(sources[0].Runs, map[string][]string{"scheduler": {"4BSD"}, "thread_lib": {"thr"}, "nice": {"0"},
		"kernel": {"FreeBSD-CURRENT-2006-05-06"}, "workload": {"select"}}); err != nil {
		t.Fatal(err)
	}
	r := byFactor(t, sources, "variant", "base", "uds-locking-patch")
	want := map[int]float64{10: 44, 100: -26}
	for _, c := range r.Cells() {
		if got := 100 * (c.Ratio - 1); math.Round(got) != want[c.Cell.Parallel] {
			t.Errorf("%d threads: %+.1f %%, want %+.0f %%", c.Cell.Parallel, got, want[c.Cell.Parallel])
		}
		if c.Verdict != Undecided || c.Diff != nil || c.Need.Boots != nil || c.Need.Why == "" || !slices.Contains(c.Notes, "this boot only") {
			t.Errorf("%d threads: %s %v %+v", c.Cell.Parallel, c.Verdict, c.Notes, c.Need)
		}
	}
	golden(t, "locking-patch-2006", table(t, r))
}

// The HTT matrix of July 2006: three runs each.
func TestHTTMatrixOf2006(t *testing.T) {
	sources := imported(t, "../importer/testdata/csv/smack-htt-matrix-2006-07.tsv")
	r := byFactor(t, sources, "htt", "off", "on")
	c, err := r.Find("scheduler 4BSD, thread_lib libthr")
	if err != nil {
		t.Fatal(err)
	}
	if got := 100 * (c.Ratio - 1); math.Abs(got-10.5) > 0.1 || c.Verdict != Faster || !slices.Contains(c.Notes, "this boot only") || c.Pair.Unit != UnitRun {
		t.Errorf("4BSD and libthr: %+.2f %% %s %v unit %s", got, c.Verdict, c.Notes, c.Pair.Unit)
	}
	golden(t, "htt-2006", table(t, r))
	var b bytes.Buffer
	if err := r.Explain(&b, c, 120); err != nil {
		t.Fatal(err)
	}
	golden(t, "htt-2006-explain", b.String())

	var effects []Effect
	for _, f := range []string{"scheduler", "thread_lib"} {
		effects = append(effects, Effects(f, byFactor(t, sources, f))...)
	}
	b.Reset()
	if err := WriteEffects(&b, effects, 120); err != nil {
		t.Fatal(err)
	}
	golden(t, "main-effects-2006", b.String())
	// By hand: the mean over the four cells of the differences of mean logarithms.
	if e := effects[0]; e.After != "ULE" || e.Cells != 4 || math.Abs(math.Exp(e.Log)-0.803) > 0.001 || e.Diff.Hi > 0 {
		t.Errorf("scheduler %+v", e)
	}
	if e := effects[1]; e.After != "libpthread" || math.Abs(math.Exp(e.Log)-0.414) > 0.001 || e.Diff.Hi > 0 {
		t.Errorf("thread_lib %+v", e)
	}
}

func TestVerdicts(t *testing.T) {
	text, err := os.ReadFile("testdata/verdicts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if line[0] == '#' || f[0] == "lo" {
			continue
		}
		var x [4]float64
		for i := range x {
			if x[i], err = strconv.ParseFloat(f[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		lo, hi := math.Log(x[0]), math.Log(x[1])
		word, note := decide(&Difference{Log: (lo + hi) / 2, Lo: lo, Hi: hi, SE: 1}, x[2], x[3], series.Metric{LowerIsBetter: f[4] == "yes"})
		if string(word) != f[5] || note != f[6] {
			t.Errorf("%s: %s, %q", line, word, note)
		}
		n++
	}
	if n < 10 {
		t.Errorf("%d cases", n)
	}
	if word, _ := decide(nil, math.NaN(), 0.02, series.Throughput); word != Undecided {
		t.Errorf("without an interval: %s", word)
	}
}

func TestWelchAndPairsAgreeWithAnotherProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), 3, 12)
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		if d := Welch(a, b, false); d.SE > 1e-6 {
			w, err := moremath.TwoSampleWelchTTest(moremath.Sample{Xs: b}, moremath.Sample{Xs: a}, moremath.LocationDiffers)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(w.P-d.P) > 1e-9 || math.Abs(w.DoF-d.DF) > 1e-6*w.DoF {
				t.Fatalf("p %g, df %g; theirs %g, %g", d.P, d.DF, w.P, w.DoF)
			}
			if (d.Lo > 0 || d.Hi < 0) != (d.P < 0.05) && math.Abs(d.P-0.05) > 1e-9 {
				t.Fatalf("interval %g … %g and p %g disagree", d.Lo, d.Hi, d.P)
			}
			if s := Welch(b, a, false); math.Abs(s.Lo+d.Hi) > 1e-12 || s.P != d.P {
				t.Fatal("not the same the other way round")
			}
		}
		n := min(len(a), len(b))
		if d := Pairs(a[:n], b[:n], false); d.SE > 1e-6 {
			w, err := moremath.PairedTTest(b[:n], a[:n], 0, moremath.LocationDiffers)
			if err == nil && math.Abs(w.P-d.P) > 1e-9 {
				t.Fatalf("pairs: p %g, theirs %g", d.P, w.P)
			}
		}
	})
}

func TestQuantiles(t *testing.T) {
	for _, c := range []struct{ tail, df, want float64 }{ // printed tables of Student's t
		{0.025, 1, 12.706}, {0.025, 2, 4.303}, {0.025, 4, 2.776}, {0.025, 18, 2.101}, {0.005, 10, 3.169}, {0.1, 5, 1.476}, {0.9, 5, -1.476}, {0.5, 3, 0},
	} {
		if got := tQuantile(c.tail, c.df); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("tail %g, df %g: %g, want %g", c.tail, c.df, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		tail, df := rapid.Float64Range(1e-6, 0.49).Draw(t, "tail"), rapid.Float64Range(1, 100).Draw(t, "df")
		if got := tTail(tQuantile(tail, df), df) / 2; math.Abs(got-tail) > 1e-9 {
			t.Fatalf("tail %g, df %g: back as %g", tail, df, got)
		}
	})
}

func TestHolm(t *testing.T) {
	nan := math.NaN()
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005, nan})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("%v", got)
		}
	}
	if !math.IsNaN(got[4]) {
		t.Errorf("%v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "ps")
		adjusted := Holm(ps)
		for i, p := range ps {
			if adjusted[i] < p || adjusted[i] > 1 || adjusted[i] > p*float64(len(ps))+1e-12 && adjusted[i] > slices.Max(ps)*float64(len(ps)) {
				t.Fatalf("%v of %v", adjusted, ps)
			}
			for j, q := range ps {
				if p < q && adjusted[i] > adjusted[j] {
					t.Fatalf("order changed: %v of %v", adjusted, ps)
				}
			}
		}
	})
}

func TestSignedRank(t *testing.T) {
	zero := make([]float64, 10)
	up := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{zero[:5], up[:5], 0.0625},
		{zero, up, 2.0 / 1024},
		{zero[:3], []float64{1, -1, 0}, 1}, // tied ranks, a zero left out
		{zero[:4], []float64{-1, 2, 3, 4}, 0.25},
	} {
		if got := SignedRank(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %g, want %g", c.b, got, c.want)
		}
	}
	if !math.IsNaN(SignedRank(zero, zero)) {
		t.Error("no difference, and yet a p")
	}
}

func flat(record.Cell) float64 { return 10 }

func TestUnits(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1)}
	one := func(name string) Side { return Side{Name: name, Runs: campaign(1, name, 1, 6, cells, flat)} }
	many := func(name string, seed uint64) Side {
		return Side{Name: name, Runs: campaign(seed, name, 4, 6, cells, flat)}
	}
	bare := Side{Name: "bare", Runs: campaign(3, "", 1, 6, cells, flat)}
	for i := range bare.Runs {
		bare.Runs[i].Boot = ""
	}
	for _, c := range []struct {
		name       string
		a, b       Side
		asked      string
		unit, only string
		note       string
		err        string
	}{
		{"one boot a side", one("a"), one("b"), "", UnitBoot, "", "boot to boot unknown", ""},
		{"one boot a side, runs asked for", one("a"), one("b"), UnitRun, UnitRun, "this boot only", "this boot only", ""},
		{"many boots", many("a", 1), many("b", 2), "", UnitBoot, "", "", ""},
		{"many boots, runs asked for", many("a", 1), many("b", 2), UnitRun, UnitRun, "these 8 boots only", "these 8 boots only", ""},
		{"the same boot", one("a"), one("a"), "", UnitRun, "this boot only", "this boot only", ""},
		{"the same boots", many("a", 1), many("a", 2), "", UnitRun, "these 4 boots only", "these 4 boots only", ""},
		{"imported", one("a"), bare, "", UnitRun, "this boot only", "this boot only", ""},
		{"imported, boots asked for", one("a"), bare, UnitBoot, "", "", "", "imported results name no boot"},
		{"the same boot, boots asked for", one("a"), one("a"), UnitBoot, "", "", "", "share a boot"},
		{"nonsense", one("a"), one("b"), "day", "", "", "", "there are boot and run"},
	} {
		r, err := Compare(Input{Sides: []Side{c.a, c.b}, Threshold: 0.02, Discard: series.Auto, Unit: c.asked})
		if err != nil || c.err != "" {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		p := r.Pairs[0]
		if p.Unit != c.unit || p.Only != c.only || c.note != "" && !slices.Contains(p.Cells[0].Notes, c.note) {
			t.Errorf("%s: unit %s, %q, notes %v", c.name, p.Unit, p.Only, p.Cells[0].Notes)
		}
		if c.note == "boot to boot unknown" && (p.Cells[0].Verdict != Undecided || p.Cells[0].Diff != nil) {
			t.Errorf("%s: %s", c.name, p.Cells[0].Verdict)
		}
	}
}

// Two levels in the same blocks of one boot: a drift that swamps the change
// falls out.
func TestBlocksArePaired(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var runs []record.Run
	for b := range 12 {
		for n, model := range []string{"process", "thread"} {
			c := cell("pingpong", "unix-stream", 1)
			c.Model = model
			rate := math.Exp(10 + 0.05*float64(b) + 0.03*float64(n) + 0.003*rng.NormFloat64())
			runs = append(runs, record.Run{Session: "s", Boot: "b", Seq: 2*b + n, Block: b, Kind: record.Timed, Status: record.OK, Cell: c, OpsPerS: &rate})
		}
	}
	sides, err := Split([]Source{{Name: "s", Runs: runs}}, "model", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compare(Input{Sides: sides, Threshold: 0.02, Factors: []string{"model"}, Together: true})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cells()[0]
	if c.Verdict != Faster || !c.Diff.Paired || c.Diff.N != [2]int{12, 12} || c.Diff.SE > 0.003 || c.Rank > 0.01 {
		t.Errorf("%s %+v rank %g", c.Verdict, c.Diff, c.Rank)
	}
}

// Levels that took turns are compared by the ratios within their rounds.
func TestTurnsAreComparedWithinRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var runs []record.Run
	for set := range 5 {
		bias := 0.002 * rng.NormFloat64()
		var two [2]record.Run
		for n, level := range []string{"process", "thread"} {
			c := cell("pingpong", "unix-stream", 1)
			c.Model = level
			two[n] = record.Run{Session: "s", Boot: "b", Seq: 2*set + n, Block: set, Kind: record.Timed, Status: record.OK, Cell: c,
				Paired: &record.Paired{Factor: "model", Level: level, Levels: 2, Rounds: 50}}
		}
		for round := range 50 {
			machine := 9 + 0.3*math.Sin(float64(set*50+round)/20) // both levels see it
			for n := range two {
				ops := uint64(math.Exp(machine + float64(n)*(0.02+bias) + 0.01*rng.NormFloat64()))
				if round%10 == 3+n { // a slice that something else took
					ops /= 3
				}
				two[n].Slices, two[n].SliceNS = append(two[n].Slices, ops), append(two[n].SliceNS, 10e6)
			}
		}
		for n := range two {
			var ops uint64
			for _, k := range two[n].Slices {
				ops += k
			}
			rate := float64(ops) / 0.5
			two[n].OpsPerS = &rate
		}
		runs = append(runs, two[:]...)
	}
	sources := []Source{{Name: "s", Runs: runs}}
	sides, err := Split(sources, PairedFactor(sources), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compare(Input{Sides: sides, Threshold: 0.005, Factors: []string{"model"}, Together: true})
	if err != nil {
		t.Fatal(err)
	}
	// By hand: the median of the ratios of each set, and the t of these.
	var logs []float64
	for set := range 5 {
		x, y := runs[2*set], runs[2*set+1]
		var rounds []float64
		for i := range x.Slices {
			rounds = append(rounds, math.Log(float64(y.Slices[i])/float64(x.Slices[i])))
		}
		slices.Sort(rounds)
		logs = append(logs, (rounds[24]+rounds[25])/2)
	}
	want, err := moremath.OneSampleTTest(moremath.Sample{Xs: logs}, 0, moremath.LocationDiffers)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cells()[0]
	if c.Verdict != Faster || math.Abs(c.Diff.Log-0.02) > 0.005 || math.Abs(c.Diff.P-want.P) > 1e-12 || math.Abs(c.Diff.Log-moremath.Mean(logs)) > 1e-12 {
		t.Errorf("%s %+v, want p %g of %v", c.Verdict, c.Diff, want.P, logs)
	}
}

// A boot that was lost is said and counted, and is no run that failed.
func TestLostBoots(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1)}
	seq := 3
	lost := []record.LostBoot{{Boot: "b4", Kernel: "6.12", Seq: &seq, Cell: &cells[0]}}
	before := Side{Name: "base", Runs: campaign(1, "a", 4, 4, cells, flat)}
	after := Side{Name: "patched", Runs: campaign(2, "b", 3, 4, cells, flat), Lost: lost}
	r, err := Compare(Input{Sides: []Side{before, after}, Threshold: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	text := table(t, r)
	for _, words := range []string{"patched (12 runs a cell, 3 boots, 1 boot lost)", "patched lost 1 boot", "boot b4 of kernel 6.12 in run 3 (pingpong unix-stream parallel 1)", "0 failed"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), words) {
			t.Errorf("%q is not in\n%s", words, text)
		}
	}
	if strings.Contains(text, "runs failed") {
		t.Errorf("a lost boot is counted as a run that failed\n%s", text)
	}
	if c := r.Cells()[0]; c.json().After.LostBoots != 1 || c.json().Before.LostBoots != 0 || len(c.After.Units) != 3 {
		t.Errorf("%+v", c.json().After)
	}
	// A kernel of which no boot came through has no figure, and is not passed over.
	after.Runs = nil
	if r, err = Compare(Input{Sides: []Side{before, after}, Threshold: 0.02}); err != nil {
		t.Fatal(err)
	}
	if c := r.Cells()[0]; c.Verdict != FailedCell || r.Bisect() != StatusSkip {
		t.Errorf("%s, bisect %d", c.Verdict, r.Bisect())
	}
}

func TestFailedCellsStayVisible(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1), cell("pingpong", "unix-stream", 10), cell("pingpong", "unix-stream", 100)}
	before := Side{Name: "a", Runs: campaign(1, "a", 4, 4, cells, flat)}
	after := Side{Name: "b", Runs: campaign(2, "b", 4, 4, cells[:2], flat)}
	fail := func(r *record.Run) { r.Status, r.OpsPerS, r.Error = record.Failed, nil, &record.Error{What: "gone"} }
	for i := range after.Runs {
		if after.Runs[i].Cell.Parallel == 10 {
			fail(&after.Runs[i])
		}
	}
	fail(&before.Runs[0])
	r, err := Compare(Input{Sides: []Side{before, after}, Threshold: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	cs := r.Cells()
	if len(cs) != 3 || cs[1].Verdict != FailedCell || cs[2].Verdict != FailedCell || cs[0].Verdict == FailedCell {
		t.Fatalf("%s %s %s", cs[0].Verdict, cs[1].Verdict, cs[2].Verdict)
	}
	text := strings.Join(strings.Fields(table(t, r)), " ")
	for _, words := range []string{"1 run of a failed", "b: all 16 runs failed", "b has no run of this cell", "2 failed; without the figures of 17 runs that failed"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
	if cs[1].Tests != 0 || cs[0].Tests != 1 {
		t.Errorf("adjusted for %d tests, want the 1 that there was", cs[0].Tests)
	}
	before.Runs[3].Start = "2026-03-01T10:11:12Z"
	if _, err := Compare(Input{Sides: []Side{before, before}}); err == nil || !strings.Contains(err.Error(), "is on both sides") {
		t.Errorf("a session against itself: %v", err)
	}
	if _, err := Compare(Input{Sides: []Side{before, {Name: "c", Runs: campaign(3, "c", 1, 1, []record.Cell{cell("fanin", "tcp", 1)}, flat)}}}); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing in common: %v", err)
	}
}

func TestStatus(t *testing.T) {
	result := func(words ...Verdict) *Result {
		p := &Pair{}
		for _, w := range words {
			p.Cells = append(p.Cells, &Cell{Verdict: w})
		}
		return &Result{Pairs: []*Pair{p}}
	}
	slower, undecided := []string{"slower"}, []string{"undecided"}
	for _, c := range []struct {
		r      *Result
		failOn []string
		status int
		bisect int
	}{
		{result(Same, Faster), nil, 0, 0},
		{result(Same, Faster), slower, 0, 0},
		{result(Same, Slower), nil, 0, 1},
		{result(Same, Slower), slower, 1, 1},
		{result(Undecided, Slower), slower, 1, 1},
		{result(Same, Undecided), slower, 3, 125},
		{result(Same, Undecided), nil, 0, 125},
		{result(Same, Undecided), undecided, 1, 125},
		{result(Same, Slower), undecided, 0, 1},
		{result(Slower, Undecided), []string{"slower", "undecided"}, 1, 1},
		{result(Same, FailedCell), nil, 1, 125},
		{result(FailedCell, Slower), slower, 1, 1},
	} {
		if s, b := c.r.Status(c.failOn), c.r.Bisect(); s != c.status || b != c.bisect {
			t.Errorf("%v under %v: %d and %d, want %d and %d", wordsOf(c.r), c.failOn, s, b, c.status, c.bisect)
		}
	}
	if err := CheckFailOn([]string{"faster"}); err == nil {
		t.Error("--fail-on faster is taken")
	}
}

func wordsOf(r *Result) (words []Verdict) {
	for _, c := range r.Cells() {
		words = append(words, c.Verdict)
	}
	return words
}

// What need promises: with so many boots, such a cell is decided.
func TestNeedIsEnough(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1)}
	change := func(record.Cell) float64 { return 10.025 }
	asked, decided := 0, 0
	for seed := range uint64(60) {
		few := Input{Threshold: 0.02, Sides: []Side{{Name: "a", Runs: campaign(1000*seed, "a", 3, 4, cells, flat)}, {Name: "b", Runs: campaign(1000*seed+500, "b", 3, 4, cells, change)}}}
		r, err := Compare(few)
		if err != nil {
			t.Fatal(err)
		}
		c := r.Cells()[0]
		if c.Verdict != Undecided {
			continue
		}
		if c.Need.Boots == nil || *c.Need.Boots < 1 {
			t.Fatalf("need %+v of %+v", c.Need, c.Diff)
		}
	}
	// With the true figures (boot and run noise 1 %, change 2.5 %) instead of guesses:
	n := needBoots(&Difference{Log: 0.025, N: [2]int{3, 3}}, Components{Boot: 0.0001, Run: 0.0001, Runs: 4}, 0.02, 1)
	if n.Boots == nil {
		t.Fatal("no number of boots")
	}
	for seed := range uint64(100) {
		asked++
		r, err := Compare(Input{Threshold: 0.02, Sides: []Side{{Name: "a", Runs: campaign(7000*seed, "a", 3+*n.Boots, 4, cells, flat)}, {Name: "b", Runs: campaign(7000*seed+3500, "b", 3+*n.Boots, 4, cells, change)}}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Cells()[0].Verdict.Moved() {
			decided++
		}
	}
	if decided < 80 || *n.Boots > 20 {
		t.Errorf("%d more boots decided %d of %d, want about 90 in a hundred", *n.Boots, decided, asked)
	}
	if n := needBoots(&Difference{Log: 0.001, N: [2]int{3, 3}}, Components{Boot: 0.01, Run: 0.0001, Runs: 4}, 0.02, 1); n.Runs != nil || n.Why == "" {
		t.Errorf("boots that differ by 10 %%: %+v", n)
	}
}

func TestSidesTheOtherWayRound(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1), cell("pingpong", "unix-stream", 10)}
	a := Side{Name: "a", Runs: campaign(1, "a", 6, 4, cells, flat)}
	b := Side{Name: "b", Runs: campaign(2, "b", 6, 4, cells, func(c record.Cell) float64 { return 10 + 0.1*float64(c.Parallel%9) })}
	there, err1 := Compare(Input{Sides: []Side{a, b}, Threshold: 0.02})
	back, err2 := Compare(Input{Sides: []Side{b, a}, Threshold: 0.02})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	mirror := map[Verdict]Verdict{Faster: Slower, Slower: Faster, Same: Same, Undecided: Undecided}
	for i, c := range there.Cells() {
		o := back.Cells()[i]
		if o.Verdict != mirror[c.Verdict] || math.Abs(o.Ratio*c.Ratio-1) > 1e-12 || o.Adjusted != c.Adjusted {
			t.Errorf("%s %g, the other way %s %g", c.Verdict, c.Ratio, o.Verdict, o.Ratio)
		}
	}
	if there.Cells()[1].Verdict != Faster {
		t.Errorf("%s", there.Cells()[1].Verdict)
	}
}

// Every record has the fields of the design, null or absent with a reason.
func TestJSON(t *testing.T) {
	cells := []record.Cell{cell("pingpong", "unix-stream", 1)}
	a := Side{Name: "a", Runs: campaign(1, "a", 1, 4, cells, flat)}
	b := Side{Name: "b", Runs: campaign(2, "b", 1, 4, cells, flat)}
	for _, unit := range []string{"", UnitRun} {
		r, err := Compare(Input{Sides: []Side{a, b}, Threshold: 0.02, Unit: unit})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var why map[string]string
		if got["unavailable"] != nil {
			if err := json.Unmarshal(got["unavailable"], &why); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"cell", "unit", "before", "after", "ratio", "ci", "p", "p_adjusted", "verdict", "need", "reasons"} {
			if got[name] == nil && why[name] == "" {
				t.Errorf("unit %q: %s is neither there nor explained: %s", unit, name, out.String())
			}
			if got[name] != nil && why[name] != "" {
				t.Errorf("unit %q: %s is there and explained away", unit, name)
			}
		}
		if (got["ci"] == nil) != (unit == "") {
			t.Errorf("unit %q: ci %s", unit, got["ci"])
		}
	}
}
