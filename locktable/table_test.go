package locktable

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"udsbench/record"
)

func tables2013(t testing.TB) []*Table {
	t.Helper()
	b, err := os.ReadFile("testdata/pfs-locks-2013.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if !IsPFS(string(b)) {
		t.Fatal("not taken for a table of performance schema waits")
	}
	sides, err := ReadPFS(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	seconds := 480.0
	for _, s := range sides {
		s.CPUSeconds = &seconds
	}
	return []*Table{{Per: "op", Sides: sides}}
}

// The table that settled it in 2013: LOCK_plugin waited 242.6 s of 480
// CPU-seconds, and was taken four times and more where LOCK_tdc was once.
func TestTableOf2013(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, tables2013(t), View{Top: 20, Per: "LOCK_tdc"}); err != nil {
		t.Fatal(err)
	}
	var plugin, tdc []string
	for _, line := range strings.Split(b.String(), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) > 0 && f[0] == "LOCK_plugin":
			plugin = f
		case len(f) > 0 && f[0] == "LOCK_tdc":
			tdc = f
		}
	}
	end := func(f []string, n int) string { return strings.Join(f[max(0, len(f)-n):], " ") }
	if have := end(plugin, 8); have != "4194896 4.60 242.6 s 57.83 µs 50.5 %" {
		t.Errorf("LOCK_plugin: %q", have)
	}
	if have := end(tdc, 8); have != "911928 1.00 1.089 s 1.194 µs 0.2 %" {
		t.Errorf("LOCK_tdc: %q", have)
	}
	if strings.Contains(b.String(), "not observed") {
		t.Error("observed, and said not to be")
	}
}

func TestPFSRefuses(t *testing.T) {
	for _, rows := range []string{
		"", "a\twait/synch/mutex/sql/X\t1\n", "a\twait/io/file/sql/X\t1\t2\n", "a\twait/synch/mutex/sql/X\t-1\t2\n", "a\twait/synch/mutex/sql/X\t1\tx\n",
		"a\twait/synch/mutex/sql/X\t1\t2\na\twait/synch/mutex/sql/X\t1\t2\n",
	} {
		if sides, err := ReadPFS(strings.NewReader(pfsHeader + "\n" + rows)); err == nil {
			t.Errorf("%q gave %d sides", rows, len(sides))
		}
	}
	if IsPFS("# a remark\nsomething else\n") {
		t.Error("anything is taken for performance schema waits")
	}
}

func p(v int64) *int64       { return &v }
func f64(v float64) *float64 { return &v }

// session makes runs of one cell: a plain and an instrumented one.
func session(rows []record.Lock, plain, watched float64, ops uint64) []record.Run {
	cell := record.Cell{Workload: "fanin", Transport: "unix-stream", Parallel: 8}
	lost := int64(0)
	inst := record.Instrument{Name: "locks", Source: "ebpf", CPUs: 2, WindowNS: p(3e9), Lost: &lost, SelfNS: p(6e7), Calls: p(1000),
		Blind: []string{"the dark side"}, Refused: map[string]string{"better": "the kernel lacks it"}}
	return []record.Run{
		{Kind: record.Timed, Status: record.OK, Cell: cell, OpsPerS: &plain},
		{Kind: record.Instrumented, Status: record.OK, Cell: cell, OpsPerS: &watched, Ops: &ops, Locks: rows, Instruments: []record.Instrument{inst}},
	}
}

// tablesOf draws the tables of one session, or of two: old and new.
func tablesOf(t testing.TB, sessions ...[]record.Run) []*Table {
	t.Helper()
	names := []string{"old", "new"}
	var in []Session
	for i, runs := range sessions {
		in = append(in, Session{Name: names[i], Runs: runs})
	}
	tables, err := Tables(in)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func row(site, class string, count, total int64) record.Lock {
	n := 1
	return record.Lock{Site: site, Caller: "c", Kind: "spinlock", Class: class, Where: record.InWorkers, Source: "ebpf", Addresses: &n, Count: &count, TotalNS: &total, MinNS: p(10), MaxNS: p(total)}
}

func TestTwoSessions(t *testing.T) {
	before := session([]record.Lock{row("unix_stream_sendmsg", record.ClassSocket, 1000, 6e8), row("alloc_fd", record.ClassDescriptors, 10, 1e6)}, 100, 90, 500)
	after := session([]record.Lock{row("unix_stream_sendmsg", record.ClassSocket, 100, 6e7), row("__schedule", record.ClassScheduler, 5, 2e6)}, 100, 80, 1000)
	var b strings.Builder
	if err := Write(&b, tablesOf(t, before, after), View{Top: 20}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for _, want := range []string{
		"old: 1 instrumented run, source ebpf, 500 operations, 6.000 CPU-seconds",
		"throughput not available: a price needs 2 plain and 2 instrumented runs of this cell or more, and there are 1 and 1 (--runs); programs' own time, by the kernel's count, 60.00 ms in 1000 calls (1.00 % of all CPU time); 0 events lost",
		"source better is not available: the kernel lacks it",
		"×0.05 per op", "gone", "appeared", "the dark side",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A sum over runs that lacks a part is no sum; numbers of locks do not add up.
func TestMergeRows(t *testing.T) {
	a, b := row("f", record.ClassSocket, 10, 100), row("f", record.ClassSocket, 30, 500)
	three := 3
	b.Addresses, b.Acquired = &three, p(7)
	rows := MergeRows([]record.Lock{a, b})
	if len(rows) != 1 || *rows[0].Count != 40 || *rows[0].TotalNS != 600 || *rows[0].Addresses != 3 || rows[0].Acquired != nil || *rows[0].MaxNS != 500 {
		t.Errorf("%+v", rows)
	}
	if *a.Count != 10 || *b.Count != 30 {
		t.Error("merging changed what was merged")
	}
}

// A session that saw nothing says so, and what it could not see; there is no 0.
func TestNothingSeen(t *testing.T) {
	tables := tablesOf(t, session(nil, 100, 90, 500))
	var text, js, cs strings.Builder
	if err := Write(&text, tables, View{Top: 20}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "not observed") || !strings.Contains(text.String(), "the dark side") {
		t.Errorf("%s", text.String())
	}
	if err := WriteJSON(&js, tables, View{}); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Sides []struct{ Locks []record.Lock }
	}
	if err := json.Unmarshal([]byte(js.String()), &back); err != nil || len(back.Sides) != 1 || back.Sides[0].Locks == nil || len(back.Sides[0].Locks) != 0 {
		t.Errorf("%v, %s", err, js.String())
	}
	if err := WriteCSV(&cs, tables, View{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(cs.String(), "\n"); n != 1 {
		t.Errorf("%d lines of CSV for no row", n)
	}
}

// What a source does not tell is empty in CSV and "-" in the table.
func TestUntoldIsEmpty(t *testing.T) {
	r := record.Lock{Site: "sbwait", Kind: "sampled", Class: record.ClassSocket, Where: record.InWorkers, Source: "sample", Samples: p(12), SampleShare: &record.Ratio{N: 12, Of: 48}}
	tables := tablesOf(t, session([]record.Lock{r}, 100, 90, 500))
	var cs, text bytes.Buffer
	if err := WriteCSV(&cs, tables, View{}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&cs).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Fatalf("%v, %d lines", err, len(lines))
	}
	for i, name := range lines[0] {
		switch v := lines[1][i]; name {
		case "samples":
			if v != "12" {
				t.Errorf("samples %q", v)
			}
		case "sample_share":
			if v != "0.25" {
				t.Errorf("sample_share %q", v)
			}
		case "cell", "side", "source", "site", "kind", "class", "where":
		default:
			if v != "" {
				t.Errorf("%s is %q", name, v)
			}
		}
	}
	if err := Write(&text, tables, View{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "12 (25.0 %)") {
		t.Errorf("%s", text.String())
	}
}

func TestFolded(t *testing.T) {
	r := row("unix_stream_sendmsg", record.ClassSocket, 10, 1000)
	r.Stacks = []record.LockStack{{Frames: []string{"do_syscall_64", "vfs_write", "unix_stream_sendmsg"}, Count: 9, TotalNS: 900}}
	tables := tablesOf(t, session([]record.Lock{r}, 100, 90, 500))
	var b strings.Builder
	if err := WriteFolded(&b, tables, View{}); err != nil {
		t.Fatal(err)
	}
	want := "socket;workers;c;unix_stream_sendmsg;[spinlock] 100\nsocket;workers;do_syscall_64;vfs_write;unix_stream_sendmsg;[spinlock] 900\n"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestClassFilterKeepsPer(t *testing.T) {
	full := &Table{Per: "op", Sides: []*Side{{Name: "a", Rows: []record.Lock{row("q", record.ClassOther, 10, 10), row("s", record.ClassSocket, 40, 100)}, CPUSeconds: f64(1)}}}
	got := View{Class: record.ClassSocket, Per: "q"}.apply(full)
	if len(got.Sides[0].Rows) != 1 || *got.Sides[0].Ops != 10 || got.Per != "q" || full.Sides[0].Ops != nil {
		t.Errorf("%+v, before %+v", got.Sides[0], full.Sides[0])
	}
}

func FuzzPFS(f *testing.F) {
	b, err := os.ReadFile("testdata/pfs-locks-2013.tsv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	f.Fuzz(func(t *testing.T, text string) {
		sides, err := ReadPFS(strings.NewReader(text))
		if err != nil {
			return
		}
		var out strings.Builder
		if err := Write(&out, []*Table{{Per: "op", Sides: sides}}, View{Top: 5}); err != nil {
			t.Fatal(err)
		}
	})
}
