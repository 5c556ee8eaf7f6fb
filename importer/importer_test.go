package importer

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"udsbench/plan"
	"udsbench/record"
	"udsbench/series"
)

var update = flag.Bool("update", false, "write the golden files anew")

func inputs(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*/*")
	if err != nil || len(all) < 10 {
		t.Fatalf("testdata: %d files, %v", len(all), err)
	}
	return slices.DeleteFunc(all, func(p string) bool { return strings.HasSuffix(p, ".golden") || strings.Contains(p, "testdata/fuzz") })
}

// Every recorded file is recognised by itself and read as its golden file says.
func TestRecordedFiles(t *testing.T) {
	for _, path := range inputs(t) {
		sets, err := Open(path, Options{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		s := sets[0]
		if want := filepath.Base(filepath.Dir(path)); s.Format != want {
			t.Errorf("%s: read as %s, want %s", path, s.Format, want)
		}
		got := dump(s)
		golden := path + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: read as\n%s\nwant\n%s", path, got, want)
		}
	}
}

func dump(s Set) string {
	var b strings.Builder
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, l := range s.Lost {
		fmt.Fprintf(&b, "lost boot %s of kernel %s\n", l.Boot, l.Kernel)
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		fmt.Fprintf(&b, "%d %s", r.Seq, r.Status)
		if r.OpsPerS != nil {
			fmt.Fprintf(&b, " %.2f/s", *r.OpsPerS)
		}
		if r.Ops != nil {
			fmt.Fprintf(&b, " ops %d", *r.Ops)
		}
		for _, f := range series.Known(r.Cell) {
			fmt.Fprintf(&b, " %s=%s", f.Name, f.Value)
		}
		if c := r.ConnectNS; c != nil {
			fmt.Fprintf(&b, " connect %d/%g/%d", c.Min, c.Avg, c.Max)
		}
		if r.Slices != nil {
			fmt.Fprintf(&b, " slices %v", r.Slices)
		}
		if r.Error != nil {
			fmt.Fprintf(&b, " error %q", r.Error.What)
		}
		for _, w := range r.Warnings {
			fmt.Fprintf(&b, " warning %q", w)
		}
		for _, name := range slices.Sorted(maps.Keys(r.Unavailable)) {
			fmt.Fprintf(&b, " no %s", name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The matrix of 2006-07 exists as raw output and as a table made from it by
// hand: both are read as the same rates in the same order.
func TestRawOutputAgreesWithTable(t *testing.T) {
	rates := func(path string) (xs []float64) {
		sets, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range sets[0].Runs {
			xs = append(xs, *r.OpsPerS)
		}
		return xs
	}
	raw := rates("testdata/super-smack/smack-htt-matrix-2006-07.raw.txt")
	table := rates("testdata/csv/smack-htt-matrix-2006-07.tsv")
	if len(raw) != 24 || !slices.Equal(raw, table) {
		t.Errorf("raw %v\ntable %v", raw, table)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		words      string
	}{
		{"nothing", "", Options{}, "no format that is known"},
		{"prose", "this is no result\nat all\n", Options{}, "no format that is known"},
		{"unknown format", "1\n2\n", Options{Format: "xml"}, "--format xml: there are records, super-smack"},
		{"no rate", "0\n", Options{}, `"0" is not a rate above 0`},
		{"negative", "12\n-3\n", Options{}, `line 2: "-3" is not a rate above 0`},
		{"no rate column", "a,b\n1,2\n", Options{}, "name it with --value; there are a, b"},
		{"no such column", "a,qps\n1,2\n", Options{Values: []string{"x"}}, `there is no column "x"; there are a, qps`},
		{"ragged", "a,qps\n1,2,3\n", Options{}, "wrong number of fields"},
		{"later record", `{"schema":99}`, Options{}, "record 1 has schema 99"},
		{"environment", `{"schema":1,"kernel":{}}`, Options{}, "it is no run"},
		{"zero rate", `{"schema":1,"status":"ok","ops_per_s":0}`, Options{}, "cannot have 0 operations"},
		{"too many clients", "connect: max=4ms min=1ms avg= 3ms from 9999999 clients\nQuery_type num_queries max_time min_time q_per_s\n", Options{}, "out of range"},
		{"only a header", "Query_type num_queries max_time min_time q_per_s\n", Options{}, "holds no run (read as super-smack)"},
		{"bad field", "1\n2\n", Options{Set: map[string]string{"parallel": "many"}}, `parallel "many" is not a whole number`},
		{"bench without time", "BenchmarkX 10 5 B/op\n", Options{}, "neither ops/s nor ns/op"},
	} {
		_, err := Read("x", strings.NewReader(c.text), c.o)
		if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.words)
		}
	}
}

func TestOptionsNameFields(t *testing.T) {
	s, err := Read("x", strings.NewReader("n;speed;note\n10;200;x\n20;300;y\n"), Options{
		Values: []string{"speed"}, Map: map[string]string{"n": "parallel"}, Ignore: []string{"note"}, Set: map[string]string{"kernel": "patched", "transport": "unix-stream"}})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Runs[1].Cell
	want := record.Cell{Workload: "speed", Transport: "unix-stream", Parallel: 20, Request: plan.Unset, Response: plan.Unset, Params: map[string]string{"kernel": "patched"}}
	if plan.Key(c) != plan.Key(want) || *s.Runs[1].OpsPerS != 300 {
		t.Errorf("%s", plan.Key(c))
	}
}

// check holds for whatever text was read.
func check(t *testing.T, text []byte, o Options) {
	s, err := Read("fuzz", bytes.NewReader(text), o)
	if err != nil {
		if s != nil {
			t.Fatal("an error beside a set")
		}
		return
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.Status == record.OK && r.OpsPerS != nil && !(*r.OpsPerS > 0 && !math.IsInf(*r.OpsPerS, 0)) {
			t.Fatalf("run %d has a rate of %g", i, *r.OpsPerS)
		}
		if r.Status == record.Failed && r.OpsPerS != nil {
			t.Fatalf("run %d failed and has a rate", i)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatalf("run %d cannot be written: %v", i, err)
		}
	}
}

func fuzz(f *testing.F, format string) {
	for _, path := range inputs(f) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if filepath.Base(filepath.Dir(path)) == format {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		check(t, text, Options{Format: format})
		check(t, text, Options{})
	})
}

func FuzzSuperSmack(f *testing.F) { fuzz(f, "super-smack") }
func FuzzSysbench(f *testing.F)   { fuzz(f, "sysbench") }
func FuzzColumn(f *testing.F)     { fuzz(f, "ministat") }
func FuzzGoBench(f *testing.F)    { fuzz(f, "gobench") }
func FuzzCSV(f *testing.F)        { fuzz(f, "csv") }
func FuzzRecords(f *testing.F)    { fuzz(f, "records") }
