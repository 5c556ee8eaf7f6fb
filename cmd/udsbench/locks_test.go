package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const waits2013 = "../../locktable/testdata/pfs-locks-2013.tsv"

// locks runs the command in this process.
func locks(args ...string) (string, error) {
	c := locksCommand()
	var out strings.Builder
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), err
}

func TestLocksOf2013(t *testing.T) {
	out, err := locks(waits2013, "--cpu-seconds", "480", "--per", "LOCK_tdc")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MySQL-5.6.13", "MariaDB-10.0.3", "MariaDB-10.0-r3799", "4194896          4.60   242.6 s  57.83 µs  50.5 %"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, err = locks(waits2013, "--csv", "--top", "0")
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(lines) != 61 {
		t.Errorf("%d lines of CSV, %v", len(lines), err)
	}
	out, err = locks(waits2013, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Sides []struct {
			Name  string
			Locks []struct {
				Site    string
				TotalNS int64 `json:"total_ns"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &table); err != nil || len(table.Sides) != 3 || table.Sides[2].Locks[0].Site != "LOCK_plugin" || table.Sides[2].Locks[0].TotalNS != 242595666533 {
		t.Errorf("%v: %.300s", err, out)
	}
}

func TestLocksRefuses(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("a\tb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "accepts between 1 and 2 arg"},
		{[]string{other}, "neither a session directory nor"},
		{[]string{t.TempDir()}, "environment.json"},
		{[]string{filepath.Join(t.TempDir(), "none")}, "environment.json"},
		{[]string{waits2013, "--top", "-1"}, "--top -1"},
		{[]string{waits2013, "--folded"}, "--folded takes one"},
		{[]string{waits2013, "--class", "sockets"}, "give one of socket, scheduler, "},
		{[]string{waits2013, "--class", ""}, "--class is given and empty"},
		{[]string{waits2013, "--per", "LOCK_nonsense"}, "no row of the table has this site"},
		{[]string{waits2013, "--per="}, "--per is given and empty"},
		{[]string{waits2013, "--cpu-seconds", "0"}, "give more than 0"},
		{[]string{waits2013, "--cpu-seconds", "-480"}, "give more than 0"},
		{[]string{waits2013, "--cpu-seconds", "NaN"}, "give more than 0"},
		{[]string{waits2013, "--cpu-seconds", "x"}, "invalid argument"},
		{[]string{waits2013, "--json", "--csv"}, "none of the others can be"},
	} {
		out, err := locks(c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || out != "" {
			t.Errorf("%v: %v, want %q\n%s", c.args, err, c.want, out)
		}
		var exit *exitError
		if errors.As(err, &exit) {
			t.Errorf("%v: status %d, not that of wrong usage", c.args, exit.status)
		}
	}
}

// A session of instrumented runs, from the run to every form of its table.
func TestLocksOfASession(t *testing.T) {
	home := tempDir(t)
	dir := filepath.Join(home, "s")
	r := udsbench(t, home, "run", "--workload", "fanin-shared", "--parallel", "4", "--runs", "1", "--window", "200ms", "--warmup", "50ms", "--instrument", "locks", "--out", dir)
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	out, err := locks(dir)
	if err != nil {
		if strings.Contains(err.Error(), "no run was instrumented") {
			t.Skipf("no lock source here: %s", r.err)
		}
		t.Fatal(err)
	}
	for _, want := range []string{"1 instrumented run, source ", "the instrument's price: ", "not seen by this source here"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err = locks(dir, dir); err != nil || strings.Contains(out, "appeared") || strings.Contains(out, "gone") {
		t.Errorf("against itself: %v\n%s", err, out)
	}
	if out, err = locks(dir, "--json"); err != nil || !json.Valid([]byte(out)) {
		t.Errorf("%v: %.200s", err, out)
	}
	if _, err = locks(dir, "--cpu-seconds", "3"); err == nil || !strings.Contains(err.Error(), "leave the flag out") {
		t.Errorf("a session's CPU time was taken from the command line: %v", err)
	}
	if out, err = locks(dir, "--folded", "--class", "socket"); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "socket;") {
			t.Errorf("folded line %q", line)
		}
	}
}
