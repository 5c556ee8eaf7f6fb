package locktable

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"udsbench/record"
)

// changes gives the words of two sessions' changes, by site, in all three forms:
// they must agree.
func changes(t *testing.T, before, after []record.Run) map[string]string {
	t.Helper()
	tables := tablesOf(t, before, after)
	var text, cs, js strings.Builder
	for _, err := range []error{Write(&text, tables, View{}), WriteCSV(&cs, tables, View{}), WriteJSON(&js, tables, View{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var table Table
	if err := json.Unmarshal([]byte(js.String()), &table); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(cs.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(l []string, name string) string { return l[slices.Index(csvColumns, name)] }
	words := map[string]string{}
	for _, c := range table.Changes {
		words[c.Site] = c.String()
		for _, l := range lines[1:] {
			if column(l, "site") != c.Site {
				continue
			}
			if c.Ratio == nil && (column(l, "change") != "" || column(l, "change_of") != c.Word) || c.Ratio != nil && column(l, "change_of") != c.Of {
				t.Errorf("%s changed by %q of %q in CSV, by %+v in JSON", c.Site, column(l, "change"), column(l, "change_of"), c)
			}
		}
		found := false
		for line := range strings.Lines(text.String()) {
			found = found || strings.HasPrefix(line, c.Site+" ") && strings.HasSuffix(strings.TrimSpace(line), c.String())
		}
		if !found {
			t.Errorf("%s: no %q in the table\n%s", c.Site, c, text.String())
		}
	}
	return words
}

// A side that never looked, or by other means, has not seen a row vanish.
func TestWhatChanged(t *testing.T) {
	one := func(rows ...record.Lock) []record.Run { return session(rows, 100, 90, 500) }
	with := func(runs []record.Run, f func(*record.Instrument)) []record.Run {
		f(&runs[1].Instruments[0])
		return runs
	}
	a, b := row("both", record.ClassSocket, 10, 1000), row("both", record.ClassSocket, 10, 500)
	mutex := row("asleep", record.ClassSocket, 10, 500)
	mutex.Kind = "mutex:slept"
	for what, c := range map[string]struct {
		before, after []record.Run
		want          map[string]string
	}{
		"measured twice":         {one(a, row("only a", "vfs", 1, 1)), one(b, row("only b", "vfs", 1, 1)), map[string]string{"both": "×0.50 per op", "only a": gone, "only b": appeared}},
		"second not measured":    {one(a), one(a)[:1], map[string]string{"both": notMeasured}},
		"first not measured":     {one(a)[:1], one(a), map[string]string{"both": notMeasured}},
		"second saw nothing":     {one(a), one(), map[string]string{"both": gone}},
		"another source":         {one(a), with(one(b, row("only b", "vfs", 1, 1)), func(i *record.Instrument) { i.Source = "perf" }), map[string]string{"both": otherSource, "only b": otherSource}},
		"another source, no row": {one(a), with(one(), func(i *record.Instrument) { i.Source = "sample" }), map[string]string{"both": otherSource}},
		"without stacks":         {one(a), with(one(row("write()", "other", 1, 1)), func(i *record.Instrument) { i.NoStacks = true }), map[string]string{"both": otherSites, "write()": otherSites}},
		"other spinlocks":        {with(one(a, mutex), func(i *record.Instrument) { i.Spinlocks = "native queued" }), with(one(b, mutex), func(i *record.Instrument) { i.Spinlocks = "paravirtual queued" }), map[string]string{"both": otherSpin, "asleep": "×1.00 per op"}},
	} {
		t.Run(what, func(t *testing.T) {
			got := changes(t, c.before, c.after)
			if len(got) != len(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			for site, want := range c.want {
				if got[site] != want {
					t.Errorf("%s: %q, want %q", site, got[site], want)
				}
			}
		})
	}
}

// Where a side lacks the cell it says so, with the reason that its runs give.
func TestWhyNotMeasured(t *testing.T) {
	whole := session([]record.Lock{row("f", record.ClassSocket, 1, 1)}, 100, 90, 500)
	lacking := session(nil, 100, 90, 500)
	lacking[1].Instruments, lacking[1].Unavailable = nil, map[string]string{"locks": "no lock source is available: the moon is full"}
	var b strings.Builder
	if err := Write(&b, tablesOf(t, whole, lacking), View{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "new: not measured: no instrumented run of this cell (no lock source is available: the moon is full)") {
		t.Error(b.String())
	}
	if _, err := Tables([]Session{{Name: "s", Runs: lacking}}); err == nil || !strings.Contains(err.Error(), "the moon is full") {
		t.Errorf("%v", err)
	}
	if _, err := Tables([]Session{{Name: "s", Runs: whole[:1]}}); err == nil || !strings.Contains(err.Error(), "--instrument locks") {
		t.Errorf("%v", err)
	}
}

// A run that has not seen a row looked at threads too: they are in the whole.
func TestSharesOverRuns(t *testing.T) {
	seen := record.Lock{Site: "sbwait", Kind: "asleep", Class: record.ClassSocket, Where: record.InWorkers, Source: "sample", Samples: p(12), SampleShare: &record.Ratio{N: 12, Of: 48}}
	run := func(of int64, rows ...record.Lock) record.Run {
		r := session(rows, 100, 90, 500)[1]
		r.Instruments = []record.Instrument{{Name: "locks", Source: "sample", Samples: &of}}
		return r
	}
	old := run(0, seen) // from before instruments told
	old.Instruments[0].Samples = nil
	for what, c := range map[string]struct {
		runs []record.Run
		want *record.Ratio
	}{
		"one run":                  {[]record.Run{run(48, seen)}, &record.Ratio{N: 12, Of: 48}},
		"two runs":                 {[]record.Run{run(48, seen), run(48, seen)}, &record.Ratio{N: 24, Of: 96}},
		"one of two":               {[]record.Run{run(48, seen), run(52)}, &record.Ratio{N: 12, Of: 100}},
		"an old record":            {[]record.Run{old, run(52)}, &record.Ratio{N: 12, Of: 100}},
		"an old one without a row": {[]record.Run{run(48, seen), func() record.Run { r := run(0); r.Instruments[0].Samples = nil; return r }()}, nil},
	} {
		s := tablesOf(t, c.runs)[0].Sides[0]
		if len(s.Rows) != 1 {
			t.Fatalf("%s: %d rows", what, len(s.Rows))
		}
		if got := s.Rows[0].SampleShare; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	half := seen
	half.Samples = p(6)
	if c := changes(t, []record.Run{run(48, seen)}, []record.Run{run(48, half)}); c["sbwait"] != "×0.50 of samples" {
		t.Errorf("%v", c)
	}
}

// Lower bounds are said in every form, of one session and of two.
func TestLowerBounds(t *testing.T) {
	r := row("f", record.ClassSocket, 10, 1000)
	n := 4096
	r.Addresses, r.AtLeast = &n, true
	one := session([]record.Lock{r}, 100, 90, 500)
	for _, sessions := range [][][]record.Run{{one}, {one, one}} {
		var text, cs, js strings.Builder
		tables := tablesOf(t, sessions...)
		for _, err := range []error{Write(&text, tables, View{}), WriteCSV(&cs, tables, View{}), WriteJSON(&js, tables, View{})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for form, want := range map[string]string{text.String(): "≥4096", cs.String(): ",4096,true,", js.String(): `"addresses":4096,"at_least":true`} {
			if strings.Count(form, want) != len(sessions) {
				t.Errorf("%d sides, and %q stands %d times in\n%s", len(sessions), want, strings.Count(form, want), form)
			}
		}
		if strings.Count(text.String(), "  max") != len(sessions) || strings.Count(text.String(), "  locks") != len(sessions) {
			t.Errorf("columns are missing:\n%s", text.String())
		}
	}
}

// Notes of several runs are one; their numbers are summed.
func TestNotesOverRuns(t *testing.T) {
	one := session(nil, 100, 90, 500)
	one[1].Instruments[0].Notes = []string{"3 waits were the instrument's own", "no stacks: hidden"}
	one[1].Instruments[0].Unfinished = p(2)
	two := append(slices.Clone(one), one[1])
	var b strings.Builder
	if err := Write(&b, tablesOf(t, two), View{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"note: 6 waits were the instrument's own\n", "note: no stacks: hidden\n", "  4 waits had begun and not ended when a window closed: in no row\n"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(b.String(), want), b.String())
		}
	}
}

// What a site is counted by: the waits at all rows of it; of a side that has not
// seen it, nothing.
func TestPerSite(t *testing.T) {
	q1, q2 := row("q", record.ClassOther, 10, 10), row("q", record.ClassOther, 30, 10)
	q2.Caller = "another"
	tables := tablesOf(t, session([]record.Lock{q1, q2, row("s", record.ClassSocket, 80, 100)}, 100, 90, 500), session([]record.Lock{row("s", record.ClassSocket, 80, 100)}, 100, 90, 500))
	got := View{Per: "q"}.apply(tables[0])
	if got.Sides[0].Ops == nil || *got.Sides[0].Ops != 40 || got.Sides[1].Ops != nil || got.Per != "q" {
		t.Errorf("%v and %v per %s", got.Sides[0].Ops, got.Sides[1].Ops, got.Per)
	}
	if err := (View{Per: "none"}).CheckPer(tables); err == nil {
		t.Error("a site that is not there was taken")
	}
}

func TestFoldedOfCells(t *testing.T) {
	a, b := session([]record.Lock{row("f", record.ClassSocket, 10, 1000)}, 100, 90, 500), session([]record.Lock{row("f", record.ClassSocket, 10, 500)}, 100, 90, 500)
	for i := range b {
		b[i].Cell.Parallel, b[i].Cell.Placement = 16, "server=0;client=1"
	}
	var out strings.Builder
	if err := WriteFolded(&out, tablesOf(t, append(slices.Clone(a), b...)), View{}); err != nil {
		t.Fatal(err)
	}
	want := "placement , parallel 8;socket;workers;c;f;[spinlock] 1000\nplacement server=0,client=1, parallel 16;socket;workers;c;f;[spinlock] 500\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if err := WriteFolded(&out, tablesOf(t, a, a), View{}); err == nil {
		t.Error("two sessions were folded into one")
	}
}

func TestFoldedOfSamples(t *testing.T) {
	seen := record.Lock{Site: "unix_stream_read_generic", Kind: "asleep (S)", Class: record.ClassSocket, Where: record.InWorkers, Source: "sample", Samples: p(12)}
	runs := session([]record.Lock{seen}, 100, 90, 500)
	tables := tablesOf(t, runs)
	var out strings.Builder
	if err := WriteFolded(&out, tables, View{}); err != nil || out.String() != "socket;workers;unix_stream_read_generic;[asleep (S)] 12\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	if unit, err := FoldedUnit(tables); unit != "samples" || err != nil {
		t.Errorf("%q, %v", unit, err)
	}
	mixed := session([]record.Lock{seen, row("f", record.ClassSocket, 1, math.MaxInt32)}, 100, 90, 500)
	if _, err := FoldedUnit(tablesOf(t, mixed)); err == nil {
		t.Error("times and samples were added up")
	}
}

// A class of its own is the table, not "not observed" above it.
func TestClassUser(t *testing.T) {
	f := row("futex()", record.ClassUser, 3, 100)
	f.Kind = "futex"
	tables := tablesOf(t, session([]record.Lock{f}, 100, 90, 500))
	for class, want := range map[string]bool{"": true, record.ClassUser: false} {
		var b strings.Builder
		if err := Write(&b, tables, View{Class: class}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "not observed:") != want || !strings.Contains(b.String(), "futex()") {
			t.Errorf("class %q:\n%s", class, b.String())
		}
	}
}

// Times and samples do not compare: what leads either side is on top.
func TestMixedUnitsAreRankedBySide(t *testing.T) {
	seen := record.Lock{Site: "sampled", Kind: "asleep (S)", Class: record.ClassSocket, Where: record.InWorkers, Source: "sample", Samples: p(12)}
	a := session([]record.Lock{row("first", "vfs", 10, 9e8), row("second", "vfs", 10, 1e8)}, 100, 90, 500)
	b := session([]record.Lock{seen}, 100, 90, 500)
	b[1].Instruments[0].Source = "sample"
	got := tablesOf(t, a, b)[0].lines()
	if len(got) != 3 || got[0].key.site != "sampled" || got[1].key.site != "first" {
		t.Errorf("%+v", got)
	}
}

// A cell whose runs failed stays, and says so.
func TestFailedRuns(t *testing.T) {
	good := session([]record.Lock{row("f", record.ClassSocket, 1, 1)}, 100, 90, 500)
	failed := record.Run{Kind: record.Instrumented, Status: record.Failed, Cell: good[0].Cell}
	other := failed
	other.Cell.Parallel = 99
	tables := tablesOf(t, append(slices.Clone(good), failed, other))
	var b strings.Builder
	if err := Write(&b, tables, View{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 instrumented run, 1 more failed, source ebpf", "old: not measured: no instrumented run of this cell (every instrumented run failed)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if why := NotObserved(tables[1], View{}); why != "not measured: every instrumented run failed" {
		t.Errorf("%q", why)
	}
	if _, err := Tables([]Session{{Name: "s", Runs: []record.Run{failed}}}); err == nil || !strings.Contains(err.Error(), "every instrumented run failed") {
		t.Errorf("%v", err)
	}
}
