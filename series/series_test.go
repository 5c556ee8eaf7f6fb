package series

import (
	"bufio"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"udsbench/record"
)

func recorded(t *testing.T, name string) []float64 {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var xs []float64
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if line := sc.Text(); !strings.HasPrefix(line, "#") {
			x, err := strconv.ParseFloat(line, 64)
			if err != nil {
				t.Fatal(err)
			}
			xs = append(xs, x)
		}
	}
	return xs
}

func points(xs []float64) []Point {
	ps := make([]Point, len(xs))
	for i, x := range xs {
		ps[i] = Point{&record.Run{Seq: i, Block: i}, x}
	}
	return ps
}

// Twelve identical runs: the first at half the rate, then the best, then lower.
func TestTwelveIdenticalRuns(t *testing.T) {
	xs := recorded(t, "select-key-series-12.txt")
	s := SteadyState(xs)
	if s.State != StartUp || s.Start != 1 {
		t.Errorf("%+v, want the first run as start-up", s)
	}
	if d := DriftOf(points(xs)[s.Start:]); d.P > 0.02 || d.Whole > -0.05 {
		t.Errorf("drift %+v, want a fall of over 5 %% with p under 0.02", d)
	}
	if marks := Outliers(xs); !marks[0] || slices.Contains(marks[1:], true) {
		t.Errorf("outliers %v, want the first only", marks)
	}
	f := Describe(xs[1:])
	if f.N != 11 || f.Max != 8685.55 || f.Min != 7532.90 || f.Median != 8321.53 {
		t.Errorf("%+v", f)
	}
}

func TestFiveUnstableRuns(t *testing.T) {
	xs := recorded(t, "ule-thr-100-select-5.txt")
	if s := SteadyState(xs); s.State != Unsteady || s.Start != 0 || s.Noise < 0.1 {
		t.Errorf("%+v, want no steady state", s)
	}
	// Three of five lie close together: the robust view calls the other two
	// outliers, and only the reader can say which it was.
	if marks := Outliers(xs); !slices.Equal(marks, []bool{false, true, true, false, false}) {
		t.Errorf("outliers %v", marks)
	}
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// heavy is t with 4 degrees of freedom.
func heavy(r *rand.Rand) float64 {
	var c float64
	for range 4 {
		z := r.NormFloat64()
		c += z * z
	}
	return r.NormFloat64() / math.Sqrt(c/4)
}

// level makes values about 1000 with 1 % noise; shift(i) is added to the logarithm.
func level(n int, r *rand.Rand, noise func(*rand.Rand) float64, shift func(i int) float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 1000 * math.Exp(0.01*noise(r)+shift(i))
	}
	return xs
}

func TestKnownChangePoints(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		shift func(i int) float64
		want  []int
		state State
		start int
	}{
		{"one change", 40, func(i int) float64 { return 0.1 * float64(i/20) }, []int{20}, StartUp, 20},
		{"slow first run", 10, func(i int) float64 { return -0.3 * float64(b(i == 0)) }, []int{1}, StartUp, 1},
		{"three slow runs", 12, func(i int) float64 { return -0.3 * float64(b(i < 3)) }, []int{3}, StartUp, 3},
		{"a late change", 20, func(i int) float64 { return 0.1 * float64(b(i > 14)) }, []int{15}, Unsteady, 0},
		{"two changes", 60, func(i int) float64 { return 0.1 * float64(b(i >= 10)+b(i >= 20)) }, []int{10, 20}, StartUp, 20},
		{"an outlier is no change", 20, func(i int) float64 { return -0.5 * float64(b(i == 9)) }, nil, Steady, 0},
	} {
		right := 0
		for seed := range uint64(200) {
			r := rand.New(rand.NewPCG(1, seed))
			xs := level(c.n, r, normal, c.shift)
			s := SteadyState(xs)
			if slices.Equal(s.Changes, c.want) && s.State == c.state && s.Start == c.start {
				right++
			}
		}
		if right < 160 {
			t.Errorf("%s: found exactly in %d of 200 series", c.name, right)
		}
	}
}

func b(x bool) int {
	if x {
		return 1
	}
	return 0
}

// What Penalty's comment promises.
func TestUnchangingSeriesIsSeldomSplit(t *testing.T) {
	for _, n := range []int{8, 12, 30, 100, 300} {
		for name, noise := range map[string]func(*rand.Rand) float64{"normal": normal, "heavy": heavy} {
			r := rand.New(rand.NewPCG(2, uint64(n)))
			const rounds = 1000
			split := 0
			for range rounds {
				ls := Logs(level(n, r, noise, func(int) float64 { return 0 }))
				if len(ChangePoints(ls, Noise(ls), Penalty)) > 0 {
					split++
				}
			}
			if split > rounds*8/100 {
				t.Errorf("n %d, %s noise: %d of %d split", n, name, split, rounds)
			}
		}
	}
}

// PELT leaves out starts that cannot win: the cost is that of trying all.
func TestPELTIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 12).Draw(t, "xs")
		penalty := rapid.Float64Range(0.1, 20).Draw(t, "penalty")
		cost := func(bounds []int) float64 {
			ys, c, from := clip(xs, 1), 0.0, 0
			for _, to := range append(slices.Clone(bounds), len(ys)) {
				m := mean(ys[from:to])
				for _, y := range ys[from:to] {
					c += (y - m) * (y - m)
				}
				from = to
			}
			return c + penalty*float64(len(bounds))
		}
		least := math.Inf(1)
		for set := range 1 << (len(xs) - 1) {
			var bounds []int
			for i := 1; i < len(xs); i++ {
				if set&(1<<(i-1)) != 0 {
					bounds = append(bounds, i)
				}
			}
			least = math.Min(least, cost(bounds))
		}
		if got := cost(ChangePoints(xs, 1, penalty)); got > least+1e-9 {
			t.Fatalf("cost %g, the least is %g", got, least)
		}
	})
}

func TestEffectiveSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, rho := range []float64{0, 0.5, 0.8} {
		const n, rounds = 200, 200
		var sizes []float64
		for range rounds {
			xs := make([]float64, n)
			x := r.NormFloat64() / math.Sqrt(1-rho*rho)
			for i := range xs {
				xs[i] = x
				x = rho*x + r.NormFloat64()
			}
			sizes = append(sizes, EffectiveSize(xs))
		}
		want := n * (1 - rho) / (1 + rho)
		if got := median(sizes); math.Abs(got-want) > 0.15*want {
			t.Errorf("ρ %g: effective size %.1f of %d, want about %.1f", rho, got, n, want)
		}
	}
	if got := EffectiveSize([]float64{1, 1, 1, 1, 1}); got != 5 {
		t.Errorf("equal values: %g", got)
	}
}

func TestDrift(t *testing.T) {
	seen := 0
	r := rand.New(rand.NewPCG(4, 1))
	for range 1000 {
		if DriftOf(points(level(10, r, normal, func(int) float64 { return 0 }))).Seen() {
			seen++
		}
	}
	if seen > 25 || seen == 0 {
		t.Errorf("drift seen in %d of 1000 series without one, want about 10", seen)
	}
	d := DriftOf(points(level(20, r, normal, func(i int) float64 { return 0.005 * float64(i) })))
	if !d.Seen() || math.Abs(d.PerBlock-0.005) > 0.002 || math.Abs(d.Whole-0.1) > 0.04 {
		t.Errorf("%+v", d)
	}
}

func TestOfGroupsAndOrders(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	run := func(session string, seq int, boot string, parallel int, status string, v *float64) record.Run {
		return record.Run{Session: session, Seq: seq, Boot: boot, Status: status, Kind: record.Timed,
			Cell: record.Cell{Parallel: parallel}, OpsPerS: v}
	}
	runs := []record.Run{
		run("s", 2, "b1", 1, record.OK, f(30)),
		run("s", 0, "b1", 1, record.OK, f(10)),
		run("s", 1, "b1", 2, record.OK, f(11)),
		run("s", 3, "b1", 1, record.Failed, nil),
		run("t", 0, "b1", 1, record.OK, f(40)),
		run("t", 1, "b2", 1, record.OK, f(50)),
		run("t", 2, "b2", 1, record.OK, nil),
	}
	runs = append(runs, run("t", 3, "b2", 1, record.OK, f(99)))
	runs[len(runs)-1].Kind = record.Instrumented
	all := Of(runs, Throughput)
	if len(all) != 3 {
		t.Fatalf("%d series", len(all))
	}
	if got := all[0].Values(); !slices.Equal(got, []float64{10, 30, 40}) || len(all[0].Failed) != 1 {
		t.Errorf("first series %v, %d failed", got, len(all[0].Failed))
	}
	if got := all[2]; !slices.Equal(got.Values(), []float64{50}) || len(got.Without) != 1 || got.Boot != "b2" {
		t.Errorf("third series %+v", got)
	}
	if got := all[0].Keep(2); len(got) != 1 || got[0].Value != 40 {
		t.Errorf("discard 2 keeps %v", got)
	}
	if got := all[0].Keep(7); len(got) != 1 {
		t.Errorf("discard 7 keeps %d points, want the last", len(got))
	}
}

func TestWarmUp(t *testing.T) {
	r := &record.Run{Status: record.OK}
	for i := range 20 {
		ops := uint64(1000 + i%3)
		if i < 3 {
			ops = 700
		}
		r.Slices, r.SliceNS = append(r.Slices, ops), append(r.SliceNS, 100e6)
	}
	s := &Series{Points: []Point{{r, 1}}}
	if w := s.WarmUp(); w != (WarmUp{Runs: 1, StartUp: 1, LongestS: 0.3}) {
		t.Errorf("%+v", w)
	}
}
