package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"udsbench/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

func readRuns(t testing.TB, path string) []record.Run {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var runs []record.Run
	for s := bufio.NewScanner(f); s.Scan(); {
		var r record.Run
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		runs = append(runs, r)
	}
	return runs
}

// testCase is a file of testdata.
type testCase struct {
	Runs       string        `json:"runs"`
	Title      string        `json:"title"`
	Width      int           `json:"width"`
	Cells      []record.Cell `json:"cells"`
	Discard    int           `json:"discard"`
	Explain    bool          `json:"explain"`
	Warnings   []string      `json:"warnings"`
	Accounting struct {
		Exact  bool  `json:"exact"`
		TickNS int64 `json:"tick_ns"`
	} `json:"accounting"`
}

func TestTable(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.case")
	if len(files) < 8 {
		t.Fatalf("%d cases in testdata", len(files))
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			options, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var c testCase
			if err := json.Unmarshal(options, &c); err != nil {
				t.Fatal(err)
			}
			got := text(readRuns(t, filepath.Join("testdata", c.Runs)), Options{
				Title: c.Title, Width: c.Width, Cells: c.Cells, Discard: c.Discard, Warnings: c.Warnings, Explain: c.Explain,
				Accounting: Accounting(c.Accounting),
			})
			width := c.Width
			if width == 0 {
				width = 120
			}
			for _, l := range strings.Split(got, "\n") {
				if n := utf8.RuneCountInString(l); n > width {
					t.Errorf("a line of %d columns, over %d:\n%s", n, width, l)
				}
			}
			golden := strings.TrimSuffix(f, ".case") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s (go test -update writes it anew):\n%s", golden, got)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// The figures of a cell, against values worked out by hand.
func TestSummarise(t *testing.T) {
	cell := record.Cell{Workload: "pingpong", Parallel: 1}
	run := func(seq int, rate float64) record.Run {
		return record.Run{Seq: seq, Block: seq, Kind: record.Timed, Status: record.OK, Cell: cell,
			Ops: ptr(uint64(1000)), OpsPerS: ptr(rate),
			ConnectNS: &record.Spread{Min: int64(10 + seq), Avg: float64(20 + seq), Max: int64(30 + seq)},
			CPUNS:     &record.CPU{User: 1_000_000, System: 3_000_000},
			Roles: map[string]record.Role{
				// The server's snapshots span half of the client's operations.
				"client": {Ops: 1000, CPUNS: &record.CPU{User: 500_000, System: 1_500_000}, Switches: &record.Switches{Voluntary: 1000, Involuntary: 10}},
				"server": {Ops: 500, CPUNS: &record.CPU{User: 500_000, System: 1_500_000}, Switches: &record.Switches{Voluntary: 500}},
			}}
	}
	runs := []record.Run{run(3, 130), run(0, 50), run(1, 100), run(2, 110),
		{Seq: 4, Block: 4, Kind: record.Timed, Status: record.Failed, Cell: cell},
		{Seq: 5, Block: 5, Kind: record.Instrumented, Status: record.OK, Cell: cell, OpsPerS: ptr(1.0)}}
	rows := Summarise(runs, nil, 1, Accounting{TickNS: 30_000})
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	r := rows[0]
	if r.Runs != 5 || r.Failed != 1 || len(r.OK) != 3 || r.OK[0].Seq != 1 || r.OK[2].Seq != 3 {
		t.Errorf("%d runs, %d failed, %d ok", r.Runs, r.Failed, len(r.OK))
	}
	for name, c := range map[string]struct {
		got  Figure
		want float64
	}{
		"ops/s":       {r.OpsPerS, 110},
		"spread":      {r.Spread, 100 * 15.0 / 110},
		"voluntary":   {r.Voluntary, 2},
		"involuntary": {r.Involuntary, 0.01},
		"cpu":         {r.CPU, 2000 + 4000},
		"user":        {r.UserShare, 25},
		"connect min": {r.ConnectMin, 11},
		"connect avg": {r.ConnectAvg, 22},
		"connect max": {r.ConnectMax, 33},
	} {
		if c.got.Missing != "" || c.got.Value < c.want-1e-9 || c.got.Value > c.want+1e-9 {
			t.Errorf("%s is %+v, want %v", name, c.got, c.want)
		}
	}
	if r.P50.Missing == "" || r.P99.Missing == "" {
		t.Errorf("latency without a histogram: %+v", r.P50)
	}
	// 3 runs of 4 ms are 399 ticks of 30.01 µs: one too few.
	if u := Summarise(runs, nil, 1, Accounting{TickNS: 30_010})[0].UserShare; !strings.Contains(u.Missing, "sampled at ticks") {
		t.Errorf("split on too few ticks: %+v", u)
	}
	if u := Summarise(runs, nil, 1, Accounting{Exact: true})[0].UserShare; u.Value != 25 {
		t.Errorf("exact split: %+v", u)
	}
}

// The parts of each role make up its whole; of a round trip only as far as
// the roles do not overlap.
func TestWhereTimeWent(t *testing.T) {
	rows := Summarise(readRuns(t, "testdata/time.jsonl"), nil, 0, Accounting{})
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Cell.Model == "process" && r.Cell.Parallel == 1 })
	s := rows[i].spent(Accounting{TickNS: 4_000_000}) // two runs of 610 and 590 ms: 305 and 295 ticks
	if len(s.roles) != 2 {
		t.Fatalf("%+v", s)
	}
	for _, r := range s.roles {
		if sum := r.on + r.runnable + r.blocked; sum < r.wall-0.001 || sum > r.wall+0.001 {
			t.Errorf("%s: %v on, %v runnable and %v blocked are not %v", r.name, r.on, r.runnable, r.blocked, r.wall)
		}
		if r.split == "" {
			t.Errorf("%s: user and system told apart by under %d ticks", r.name, minTicks)
		}
	}
	want := "of 18.3 µs per round trip, 6.1 user+system client, 5.9 server, 4.0 waiting for a CPU (1.5 client, 2.5 server), 2.3 asleep"
	if got := s.sentence(rows[i].Cell); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if c := rows[i].spent(Accounting{TickNS: 3_000_000}).roles[0]; c.split != "" || c.user < 1999 || c.user > 2001 {
		t.Errorf("%v user of %v by 406 ticks, %s", c.user, c.on, c.split)
	}
}

// A cell whose CPUs slept deeply between its operations is warned of, one
// whose CPUs only polled is not.
func TestIdleStatesAreWarnedOf(t *testing.T) {
	run := func(latency int64) []record.Run {
		return []record.Run{{Kind: record.Timed, Status: record.OK, Cell: record.Cell{Workload: "pingpong", Parallel: 1}, Ops: ptr(uint64(10_000)), WindowS: ptr(1.0), OpsPerS: ptr(1e4),
			Host: &record.Host{IdleCPUs: 2, Idle: []record.Idle{{State: "POLL", Entries: 20_000}, {State: "C6", LatencyUS: latency, Entries: 10_000}}}}}
	}
	// 100 µs an operation, one entry each.
	if got := text(run(50), Options{Width: 300}); !strings.Contains(got, "up to 50.0 µs of 100 µs, mostly from C6): --idle-latency 0") {
		t.Errorf("no warning of idle states in\n%s", got)
	}
	if got := text(run(2), Options{}); strings.Contains(got, "idle") {
		t.Errorf("a warning of idle states in\n%s", got)
	}
	// A guest's states do not tell what the hypervisor takes.
	if got := text(run(1), Options{Width: 300, Guest: true}); !strings.Contains(got, "CPUs went idle during operations in 1 of 1 cell (most: pingpong N=1, 1.00 times in 100 µs)") {
		t.Errorf("no warning of a guest's idle states in\n%s", got)
	}
	// What was measured goes before what the states tell, either way.
	watched := func(exit int64) []record.Run {
		x := run(50)[0]
		x.Kind = record.Instrumented
		x.Roles = map[string]record.Role{record.Client: {Time: &record.Time{Threads: 1, Ops: 10_000, WallNS: 1e9}}}
		x.Sched = &record.Sched{Roles: map[string]record.SwitchTime{record.Client: {Threads: 1, WallNS: 1e9, OnNS: 1e8, IdleExitNS: exit, AsleepNS: 9e8 - exit}}}
		return append(run(50), x)
	}
	if got := text(watched(4e8), Options{Width: 300}); !strings.Contains(got, "40.0 µs of a client's 100 µs): --idle-latency 0") || strings.Contains(got, "up to") {
		t.Errorf("no warning of measured idle states in\n%s", got)
	}
	if got := text(watched(1e8), Options{Width: 300, Guest: true}); strings.Contains(got, "idle states") || strings.Contains(got, "went idle") {
		t.Errorf("a warning of idle states in\n%s", got)
	}
}

// What a latency is of is said wherever one is drawn; an open loop that could not
// keep its schedule, and runs that did not do the same work, are warned of.
func TestWhatFiguresAreOf(t *testing.T) {
	run := func(workload, of string, seq int) record.Run {
		l := &record.Latency{Count: 1, Min: 100, Mean: 100, P50: 100, P90: 100, P99: 100, P999: 100, Max: 100}
		return record.Run{Seq: seq, Kind: record.Timed, Status: record.OK, Loop: "closed", Cell: record.Cell{Workload: workload, Parallel: 2},
			WindowS: ptr(1.0), Ops: ptr(uint64(1000)), OpsPerS: ptr(1000.0), LatencyOf: of, LatencyNS: l,
			Histogram: &record.Histogram{Unit: "ns", SubBits: 7, Buckets: [][2]uint64{{100, 1}}}}
	}
	storm, pingpong := run("storm", "connect(2) alone", 0), run("pingpong", "a round trip", 1)
	open := func(offered float64) record.Run {
		r := run("pingpong", "a round trip, from when it was due", 2)
		r.Loop, r.OfferedPerS = "open", ptr(offered)
		return r
	}
	drops := run("fanin-dgram", "", 0)
	drops.LostMessages = ptr(uint64(3))
	lock := run("profile:x", "a round trip", 0)
	lock.LockTakings, lock.LockWaits = ptr(uint64(2000)), ptr(uint64(500))
	for _, x := range []struct {
		runs      []record.Run
		want, not string
	}{
		{[]record.Run{storm}, "latency of connect(2)", "latency: of a"},
		{[]record.Run{storm}, "latency: of connect(2) alone,", "offered"},
		{[]record.Run{pingpong}, "latency: of a round trip,", "latency of"},
		{[]record.Run{storm, pingpong}, "latency: of a round trip (pingpong), connect(2) alone (storm),", "latency of"},
		{[]record.Run{open(1000)}, "offered: op/s of the open loop's schedule", "overloaded"},
		{[]record.Run{open(1000)}, "open loop", "closed loop"},
		{[]record.Run{open(1021)}, "offered", "overloaded"}, // 21 short: 20 of 2 %, and one of each client
		{[]record.Run{open(1030)}, "overloaded in 1 of 1 cell (most: pingpong N=2, 1.03k op/s offered and 1.00k done)", "closed loop"},
		{[]record.Run{drops}, "messages were sent that never came in 1 of 1 cell (most: fanin-dgram N=2, 3 in one run)", "lock%"},
		{[]record.Run{lock}, "lock%: of the server's takings of its own lock", "offered"},
		{[]record.Run{lock}, "     25   -", "closed loop, open"},
	} {
		got := text(x.runs, Options{Width: 300})
		if !strings.Contains(got, x.want) || strings.Contains(got, x.not) {
			t.Errorf("want %q and not %q in\n%s", x.want, x.not, got)
		}
	}
}

// A failed run lends nothing to the figures, whatever stands in its record.
func TestFailedRunsGiveNoFigures(t *testing.T) {
	r := record.Run{Kind: record.Timed, Status: record.Failed, Ops: ptr(uint64(10)), OpsPerS: ptr(10.0),
		Error: &record.Error{Worker: 3, Role: record.Client, Op: 7, Errno: "EPIPE", What: "write failed"}}
	row := Summarise([]record.Run{r}, nil, 0, Accounting{})[0]
	for _, f := range []Figure{row.OpsPerS, row.Spread, row.P50, row.Voluntary, row.CPU, row.UserShare, row.ConnectMax} {
		if f.Missing == "" || f.Value != 0 {
			t.Errorf("a figure of a failed run: %+v", f)
		}
	}
	text := text([]record.Run{r}, Options{})
	for _, want := range []string{"1/1", "client 3 after 7 operations: EPIPE: write failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestUnits(t *testing.T) {
	f, err := os.Open("testdata/units.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		cols := strings.Split(s.Text(), "\t")
		v, err := strconv.ParseFloat(cols[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := Count(v); got != cols[1] {
			t.Errorf("Count(%v) = %q, want %q", v, got, cols[1])
		}
		if got := Nanoseconds(v); got != cols[2] {
			t.Errorf("Nanoseconds(%v) = %q, want %q", v, got, cols[2])
		}
	}
	if n < 10 {
		t.Errorf("%d lines", n)
	}
}

// full takes nothing, as a closed pipe or a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestTableSaysWhatItCannotWrite(t *testing.T) {
	if err := Table(full{}, nil, Options{}); err == nil {
		t.Error("no error")
	}
}

func FuzzTable(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, path := range files {
		for _, r := range readRuns(f, path) {
			r.Histogram = nil // long
			line, err := json.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(line, 80)
			break
		}
	}
	f.Fuzz(func(t *testing.T, line []byte, width int) {
		var r record.Run
		if json.Unmarshal(line, &r) != nil {
			return
		}
		other := r
		other.Cell.Parallel++
		got := text([]record.Run{r, r, other}, Options{Width: width % 200})
		if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") && !bytes.Contains(line, []byte("Inf")) {
			t.Errorf("a figure that is none:\n%s", got)
		}
	})
}
