package main

import (
	order "encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"udsbench/journal"
)

// idleLatency is the bound that is in force on this machine, in µs.
func idleLatency(t *testing.T) int32 {
	t.Helper()
	f, err := os.Open("/dev/cpu_dma_latency")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return int32(order.NativeEndian.Uint32(b[:]))
}

// The bound stands while the session lasts, whoever ends it and however, and
// is part of the plan and of each record.
func TestIdleLatencyIsHeld(t *testing.T) {
	before := idleLatency(t)
	if before <= 7 {
		t.Skipf("somebody holds idle states to %d µs", before)
	}
	dir := tempDir(t)
	cmd := exec.Command(binary, "run", "--workload", "pingpong", "--idle-latency", "7", "--runs", "1", "--window", "20s", "--out", filepath.Join(dir, "killed"))
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held := waitFor(func() bool { workers, _ := family(dir); return len(workers) == 2 && idleLatency(t) == 7 })
	cmd.Process.Kill()
	cmd.Wait()
	if !held {
		t.Errorf("idle states are bounded to %d µs", idleLatency(t))
	}
	if now := idleLatency(t); now != before {
		t.Errorf("idle states are bounded to %d µs after the session, and were to %d", now, before)
	}
	waitFor(func() bool { workers, janitors := family(dir); return len(workers)+len(janitors) == 0 })

	hashes := map[string]bool{}
	for _, args := range [][]string{{"--idle-latency", "7"}, {"--idle-latency", "8"}, nil} {
		out := filepath.Join(dir, "session"+string(rune('a'+len(hashes))))
		r := udsbench(t, dir, append([]string{"run", "--workload", "pingpong", "--runs", "1", "--window", "20ms", "--slice", "10ms", "--warmup", "0", "--out", out}, args...)...)
		if r.status != 0 {
			t.Fatal(r)
		}
		s, err := journal.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		hashes[s.Plan.Hash] = true
		if got := s.Runs[0].IdleLatency; (args == nil) != (got == nil) || got != nil && *got > 8 {
			t.Errorf("%v: the record has %v", args, got)
		}
	}
	if len(hashes) != 3 {
		t.Errorf("%d plans of 3", len(hashes))
	}
}
