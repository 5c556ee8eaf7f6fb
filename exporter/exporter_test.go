package exporter

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"udsbench/compare"
	"udsbench/importer"
	"udsbench/plan"
	"udsbench/record"
	"udsbench/series"
)

var word = rapid.StringMatching(`[a-z][a-z0-9=+;%/ .-]{0,8}[a-z0-9]`)

func anyRun(t *rapid.T, seq int) record.Run {
	rate := rapid.Float64Range(0.001, 1e9).Draw(t, "rate")
	ops := rapid.Uint64Range(1, 1<<50).Draw(t, "ops")
	r := record.Run{Schema: record.Schema, Session: "s", Boot: rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "boot"), Seq: seq,
		Kind: record.Timed, Status: record.OK, Ops: &ops, OpsPerS: &rate, Cell: record.Cell{
			Workload: word.Draw(t, "workload"), Transport: "unix-stream", Address: "path", Parallel: rapid.IntRange(1, 1000).Draw(t, "parallel"),
			Model: "process", ServerModel: "thread", OneProcess: rapid.Bool().Draw(t, "one"), Placement: word.Draw(t, "placement"), Policy: "inherit",
			NiceClient: rapid.IntRange(-20, 19).Draw(t, "nice"), Request: rapid.IntRange(0, 1<<20).Draw(t, "request"), Response: 64, Clock: "vdso",
			Params: rapid.MapOfN(rapid.StringMatching(`[a-z]{3,5}x`), word, 0, 3).Draw(t, "params")}}
	if rapid.Bool().Draw(t, "latency") {
		n := rapid.Int64Range(0, 1e12)
		r.LatencyNS = &record.Latency{Count: ops, Min: n.Draw(t, "min"), Mean: float64(n.Draw(t, "mean")), P50: n.Draw(t, "p50"), P90: n.Draw(t, "p90"),
			P99: n.Draw(t, "p99"), P999: n.Draw(t, "p999"), Max: n.Draw(t, "max")}
	}
	return r
}

// What is written is read back: cells, rates, boots, latencies.
func TestRoundTrip(t *testing.T) {
	for format, write := range map[string]func(b *bytes.Buffer, runs []record.Run) error{
		"csv":     func(b *bytes.Buffer, runs []record.Run) error { return CSV(b, runs) },
		"gobench": func(b *bytes.Buffer, runs []record.Run) error { _, err := GoBench(b, runs); return err },
	} {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var runs []record.Run
				for i := range rapid.IntRange(1, 5).Draw(t, "n") {
					runs = append(runs, anyRun(t, i))
				}
				var b bytes.Buffer
				if err := write(&b, runs); err != nil {
					t.Fatal(err)
				}
				text := b.String()
				s, err := importer.Read("s", &b, importer.Options{})
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if s.Format != format || len(s.Runs) != len(runs) {
					t.Fatalf("read as %s, %d runs of %d", s.Format, len(s.Runs), len(runs))
				}
				for i, r := range s.Runs {
					w := runs[i]
					if plan.Key(r.Cell) != plan.Key(w.Cell) {
						t.Fatalf("cell\n%s\nwant\n%s\n%s", plan.Key(r.Cell), plan.Key(w.Cell), text)
					}
					if *r.OpsPerS != *w.OpsPerS || *r.Ops != *w.Ops || r.Boot != w.Boot {
						t.Fatalf("run %d: %v %v %s, want %v %v %s", i, *r.OpsPerS, *r.Ops, r.Boot, *w.OpsPerS, *w.Ops, w.Boot)
					}
					if (r.LatencyNS == nil) != (w.LatencyNS == nil) {
						t.Fatalf("run %d: latency %v, want %v\n%s", i, r.LatencyNS, w.LatencyNS, text)
					}
					if l := w.LatencyNS; l != nil && (r.LatencyNS.P99 != l.P99 || r.LatencyNS.Max != l.Max || r.LatencyNS.Count != l.Count || math.Abs(r.LatencyNS.Mean-l.Mean) > 1) {
						t.Fatalf("run %d: latency %+v, want %+v", i, r.LatencyNS, l)
					}
				}
			})
		})
	}
}

// The matrix of 2006-07: two configurations as two files.
func matrix(t *testing.T, htt string) []record.Run {
	t.Helper()
	sets, err := importer.Open("../importer/testdata/csv/smack-htt-matrix-2006-07.tsv", importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := compare.Where(sets[0].Runs, map[string][]string{"htt": {htt}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs { // so that both sides have the same cells
		runs[i].Cell.Params = map[string]string{"lib": runs[i].Cell.Params["thread_lib"], "sched": runs[i].Cell.Params["scheduler"]}
	}
	return runs
}

// benchstat reads the export and sees our medians and the p of our rank test.
func TestAgreesWithBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("builds benchstat")
	}
	dir := t.TempDir()
	var paths []string
	var sides []compare.Side
	for _, htt := range []string{"off", "on"} {
		runs := matrix(t, htt)
		var b bytes.Buffer
		if without, err := GoBench(&b, runs); err != nil || without != 0 {
			t.Fatal(without, err)
		}
		p := filepath.Join(dir, htt)
		if err := os.WriteFile(p, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
		sides = append(sides, compare.Side{Name: htt, Runs: runs})
	}
	cmd := exec.Command("go", append([]string{"run", "golang.org/x/perf/cmd/benchstat", "-format", "csv", "-filter", ".unit:ops/s", "-ignore", "session,boot"}, paths...)...)
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if e, ok := err.(*exec.ExitError); ok {
			stderr = e.Stderr
		}
		t.Fatalf("benchstat: %v\n%s%s", err, out, stderr)
	}
	r, err := compare.Compare(compare.Input{Sides: sides, Threshold: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if !strings.HasPrefix(f[0], "Udsbench/") {
			continue
		}
		for _, c := range r.Cells() {
			if !strings.Contains(f[0], "lib="+c.Cell.Params["lib"]) || !strings.Contains(f[0], "sched="+c.Cell.Params["sched"]) {
				continue
			}
			seen++
			for i, s := range []*compare.Sample{c.Before, c.After} {
				theirs, err := strconv.ParseFloat(f[1+2*i], 64)
				if ours := series.Describe(s.Values()).Median; err != nil || math.Abs(theirs-ours) > 1e-6*ours {
					t.Errorf("%s: median %s, ours %g", f[0], f[1+2*i], ours)
				}
			}
			p := regexp.MustCompile(`p=([0-9.]+) n=3`).FindStringSubmatch(line)
			if p == nil || fmt.Sprintf("%.3f", c.Rank) != p[1] {
				t.Errorf("%s: %q, our rank test has p %.3f", f[0], line, c.Rank)
			}
		}
	}
	if seen != 4 {
		t.Errorf("benchstat showed %d of 4 cells:\n%s", seen, out)
	}
}

// ministat reads the export and sees our figures; its difference is that of
// Student's t with a pooled deviation, computed here from the same logarithm-
// free samples.
func TestAgreesWithMinistat(t *testing.T) {
	bin, err := exec.LookPath("ministat")
	if err != nil {
		t.Skip("ministat is not installed (Debian package ministat)")
	}
	dir := t.TempDir()
	var paths []string
	var figures []series.Figures
	const column = 3 // lib libthr, sched 4BSD
	for _, htt := range []string{"off", "on"} {
		var b bytes.Buffer
		runs := matrix(t, htt)
		if without, uneven, err := Columns(&b, runs, series.Throughput); err != nil || uneven || without != 0 {
			t.Fatal(without, uneven, err)
		}
		if !regexp.MustCompile(`# column 3:.* lib libthr.* sched 4BSD`).MatchString(b.String()) {
			t.Fatal(b.String())
		}
		p := filepath.Join(dir, htt)
		if err := os.WriteFile(p, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
		figures = append(figures, series.Describe(ofCell(runs, "libthr", "4BSD")))
	}
	out, err := exec.Command(bin, append([]string{"-A", "-C", strconv.Itoa(column)}, paths...)...).Output()
	if err != nil {
		t.Fatalf("ministat: %v", err)
	}
	var rows [][]float64
	var difference []float64
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 7 && (f[0] == "x" || f[0] == "+") {
			rows = append(rows, floats(t, f[1:]))
		}
		if len(f) == 3 && f[1] == "+/-" && !strings.Contains(line, "%") {
			difference = floats(t, []string{f[0], f[2]})
		}
	}
	if len(rows) != 2 || difference == nil {
		t.Fatalf("ministat says\n%s", out)
	}
	for i, row := range rows {
		f := figures[i]
		ours := []float64{float64(f.N), f.Min, f.Max, f.Median, f.Mean, f.SD}
		if !slices.EqualFunc(row, ours, func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }) {
			t.Errorf("ministat %v, ours %v", row, ours)
		}
	}
	a, b := figures[0], figures[1]
	pooled := math.Sqrt((a.SD*a.SD + b.SD*b.SD) / 2)
	const t4 = 2.776 // Student's t, 97.5 %, 4 degrees of freedom
	want := []float64{b.Mean - a.Mean, t4 * pooled * math.Sqrt(2.0/3)}
	if math.Abs(difference[0]-want[0]) > 1e-4*want[0] || math.Abs(difference[1]-want[1]) > 2e-3*want[1] {
		t.Errorf("ministat's difference %v, from our figures %v", difference, want)
	}
}

func ofCell(runs []record.Run, lib, sched string) []float64 {
	for _, s := range series.Of(runs, series.Throughput) {
		if s.Cell.Params["lib"] == lib && s.Cell.Params["sched"] == sched {
			return s.Values()
		}
	}
	return nil
}

// The columns of one session stand in the order of those of another, in whatever
// order the cells were run.
func TestColumnsStandInOneOrder(t *testing.T) {
	rate := func(x float64) *float64 { return &x }
	var heads []string
	for _, order := range [][]int{{1, 10, 2}, {10, 2, 1}} {
		var runs []record.Run
		for i, n := range order {
			runs = append(runs, record.Run{Seq: i, Status: record.OK, Kind: record.Timed, Cell: record.Cell{Workload: "w", Parallel: n}, OpsPerS: rate(float64(n))})
		}
		var b bytes.Buffer
		if _, uneven, err := Columns(&b, runs, series.Throughput); err != nil || uneven {
			t.Fatal(uneven, err)
		}
		heads = append(heads, b.String())
	}
	if heads[0] != heads[1] || !strings.HasSuffix(heads[0], "1\t2\t10\n") {
		t.Errorf("%s\nand\n%s", heads[0], heads[1])
	}
}

func floats(t *testing.T, texts []string) (xs []float64) {
	for _, s := range texts {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		xs = append(xs, x)
	}
	return xs
}

func TestRaggedColumnsEndLines(t *testing.T) {
	rate := func(x float64) *float64 { return &x }
	run := func(parallel, seq int, x float64) record.Run {
		return record.Run{Seq: seq, Status: record.OK, Kind: record.Timed, Boot: "b", Cell: record.Cell{Workload: "w", Parallel: parallel}, OpsPerS: rate(x)}
	}
	runs := []record.Run{run(1, 0, 5), run(2, 1, 7), run(2, 2, 8), {Status: record.Failed, Cell: record.Cell{Workload: "w", Parallel: 1}}}
	var b bytes.Buffer
	without, uneven, err := Columns(&b, runs, series.Throughput)
	if err != nil || without != 1 || !uneven {
		t.Fatal(without, uneven, err)
	}
	_, lines, _ := strings.Cut(b.String(), "boot b\n# column 2: workload w, parallel 1; ops_per_s, ops/s; boot b\n")
	if lines != "7\t5\n8\n" {
		t.Errorf("%s", b.String())
	}
}
