package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"udsbench/record"
)

// binary is the program itself, built once: exit statuses, signals and limits
// are tested on it.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/tmp", "ubtest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "udsbench")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// tempDir is a directory for temporary files and sessions of one test, short
// enough for socket names. Nothing of udsbench may be left in it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "udsbench.*", "owner")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	return dir
}

// result is what a command printed and how it ended.
type result struct {
	out, err string
	status   int
}

// udsbench runs the program in dir.
func udsbench(t *testing.T, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return finish(t, exec.CommandContext(ctx, binary, args...), dir)
}

func finish(t *testing.T, cmd *exec.Cmd, dir string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// records parses what --json printed: records and nothing else.
func records(t *testing.T, text string) []record.Run {
	t.Helper()
	var runs []record.Run
	for line := range strings.Lines(text) {
		var r record.Run
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("standard output holds %.80q: %v", line, err)
		}
		runs = append(runs, r)
	}
	return runs
}

func (r result) String() string {
	return fmt.Sprintf("status %d\nout: %s\nerr: %s", r.status, r.out, r.err)
}
