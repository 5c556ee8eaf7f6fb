package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/plan"
	"udsbench/record"
)

// progress is one line on standard error, where that is a terminal. It is
// drawn between runs only: nothing of ours moves while one is measured.
type progress struct {
	plan    *plan.Plan
	total   int
	at      int // runs that are kept
	here    int // of them, those of this session of work
	started time.Time
	width   int // of what stands on the line
	on      bool
}

func newProgress(p *plan.Plan, kept int) *progress {
	return &progress{plan: p, total: p.Len(), at: kept, started: time.Now(), on: isTerminal(2)}
}

func (b *progress) draw(c record.Cell) {
	if !b.on {
		return
	}
	left, known := b.left()
	text := fmt.Sprintf("run %d/%d  %s %s %d", b.at+1, b.total, c.Workload, c.Transport, c.Parallel)
	if known {
		text += fmt.Sprintf("  %v left", left.Round(time.Second))
	}
	b.line(text)
}

// left is the time of the runs to come: as they took until now, or as estimated.
func (b *progress) left() (time.Duration, bool) {
	todo := b.total - b.at
	if b.here > 0 {
		return time.Since(b.started) / time.Duration(b.here) * time.Duration(todo), true
	}
	d, known := b.plan.Estimate(perProcess, perRun)
	return d / time.Duration(max(b.total, 1)) * time.Duration(todo), known
}

func (b *progress) finished() { b.at++; b.here++ }

func (b *progress) done() {
	if b.on && b.width > 0 {
		b.line("")
		fmt.Fprint(os.Stderr, "\r")
		b.width = 0
	}
}

func (b *progress) line(text string) {
	pad := max(b.width-len(text), 0)
	fmt.Fprint(os.Stderr, "\r"+text+strings.Repeat(" ", pad))
	b.width = len(text)
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	return err == nil
}

// terminalWidth is the columns of standard output; otherwise where it is no terminal.
func terminalWidth(otherwise int) int {
	if ws, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil && ws.Col > 0 {
		return int(ws.Col)
	}
	return otherwise
}
