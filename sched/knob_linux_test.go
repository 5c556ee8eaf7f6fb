package sched

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const timeslice = "/proc/sys/kernel/sched_rr_timeslice_ms"

func reads(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	return strings.TrimSpace(string(b))
}

// A knob stands at its value while it is switched, belongs to one run, and is
// put back.
func TestSwitchAndRestore(t *testing.T) {
	before := reads(t, timeslice)
	if _, err := FindKnob("sched/rr_timeslice_ms"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "knobs")
	s, err := Switch(map[string]string{"sched/rr_timeslice_ms": "40", "backlog": "10"}, file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Restore()
	if now := reads(t, timeslice); now != "40" {
		t.Errorf("%s is %s", timeslice, now)
	}
	other := filepath.Join(t.TempDir(), "knobs")
	if s, err := Switch(map[string]string{"sched/rr_timeslice_ms": "80"}, other); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a second run: %v", err)
	} else if err := s.Restore(); err != nil {
		t.Error(err)
	}
	if now := reads(t, timeslice); now != "40" {
		t.Errorf("%s is %s after a run that was refused", timeslice, now)
	}
	if err := s.Restore(); err != nil {
		t.Error(err)
	}
	if now := reads(t, timeslice); now != before {
		t.Errorf("%s is %s, and was %s", timeslice, now, before)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the note is still there")
	}
}

func TestRefusedValueLeavesTheKnob(t *testing.T) {
	before := reads(t, timeslice)
	if _, err := FindKnob("sched/rr_timeslice_ms"); err != nil {
		t.Skip(err)
	}
	s, err := Switch(map[string]string{"sched/rr_timeslice_ms": "many"}, filepath.Join(t.TempDir(), "knobs"))
	if err == nil || !strings.Contains(err.Error(), "rr_timeslice_ms=many") {
		t.Errorf("%v", err)
	}
	if err := s.Restore(); err != nil {
		t.Error(err)
	}
	if now := reads(t, timeslice); now != before {
		t.Errorf("%s is %s, and was %s", timeslice, now, before)
	}
}
