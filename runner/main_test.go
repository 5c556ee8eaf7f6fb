package runner

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"udsbench/janitor"
	"udsbench/pingpong"
	"udsbench/record"
)

// TestMain makes the test binary its own worker and janitor, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case pingpong.WorkerArg:
			os.Exit(pingpong.WorkerMain())
		case janitor.Arg:
			janitor.Main(os.Args[2])
		}
	}
	os.Exit(m.Run())
}

// cell fills what a test leaves out.
func cell(c record.Cell) record.Cell {
	if c.Request == 0 {
		c.Request = -1
	}
	if c.Response == 0 {
		c.Response = -1
	}
	if c.Parallel == 0 {
		c.Parallel = 1
	}
	return pingpong.Catalogue{}.Fill(c)
}

func options(t testing.TB) Options {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Window: 100 * time.Millisecond, Warmup: 20 * time.Millisecond, Slice: 20 * time.Millisecond, Exe: exe}
}

// patiently runs a cell; where the machine was so busy with others that no
// operation ended in the window, again and with a longer one.
func patiently(t testing.TB, c record.Cell, o Options) *record.Run {
	t.Helper()
	for try := 1; ; try++ {
		rec, err := Run(context.Background(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		starved := rec.Status == record.Failed && strings.HasPrefix(rec.Error.What, "starved: no operation") ||
			rec.Status == record.OK && *rec.Ops == 0
		if !starved || try == 3 {
			return rec
		}
		o.Window = max(5*o.Window, 500*time.Millisecond)
		o.Slice = o.Window / 5
	}
}

// measure runs a cell and fails the test where the run fails.
func measure(t testing.TB, c record.Cell, o Options) *record.Run {
	t.Helper()
	if err := (pingpong.Catalogue{}).Check(c); err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	rec := patiently(t, c, o)
	if rec.Status != record.OK {
		t.Fatalf("%+v: %v", c, rec.Error)
	}
	return rec
}
