package sched

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"udsbench/sysctl"
)

func recordedKinfo(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The recorded process said of itself which thread did what, and how many
// switches it had before and after it was looked at.
func TestKinfoRecorded(t *testing.T) {
	for _, scheduler := range []string{"4bsd", "ule"} {
		threads, err := ParseKinfo(recordedKinfo(t, "kinfo_proc.threads."+scheduler+".bin"))
		if err != nil {
			t.Fatal(err)
		}
		procs, err := ParseKinfo(recordedKinfo(t, "kinfo_proc.proc."+scheduler+".bin"))
		if err != nil || len(procs) != 1 {
			t.Fatalf("%d processes, %v", len(procs), err)
		}
		proc := procs[0]
		byTID := map[int]Kinfo{}
		var voluntary, involuntary int64
		for _, k := range threads {
			byTID[k.TID] = k
			voluntary, involuntary = voluntary+k.Voluntary, involuntary+k.Involuntary
			if k.PID != proc.PID || k.Comm != "kinfodump" || k.Threads != len(threads) || k.LockBlocked || k.PriClass != 3 {
				t.Errorf("%s: %+v", scheduler, k)
			}
			if (k.OnCPU >= 0) != (k.State == StateRun) || k.LastCPU < 0 || k.LastCPU > 7 {
				t.Errorf("%s: thread %d in state %d on CPU %d, last on %d", scheduler, k.TID, k.State, k.OnCPU, k.LastCPU)
			}
		}
		if len(byTID) != len(threads) {
			t.Errorf("%s: %d thread ids of %d threads", scheduler, len(byTID), len(threads))
		}
		messages := map[string]string{"stream-read": "sbwait", "dgram-read": "sbwait", "pipe-read": "piperd", "sleep": "nanslp", "spin": ""}
		states := map[string]byte{"spin": StateRun}
		found := 0
		for line := range strings.Lines(string(recordedKinfo(t, "kinfo_proc."+scheduler+".txt"))) {
			var name string
			var pid, tid int
			var v, i int64
			if n, _ := fmt.Sscanf(line, "THREAD %s tid %d", &name, &tid); n == 2 {
				found++
				k, ok := byTID[tid]
				want, known := messages[name]
				if !ok || !known || k.WaitMessage != want {
					t.Errorf("%s: %s is %+v, want wait message %q", scheduler, name, k, want)
				}
				if s, ok := states[name]; ok && k.State != s {
					t.Errorf("%s: %s is in state %d", scheduler, name, k.State)
				}
			}
			if n, _ := fmt.Sscanf(line, "PID %d MAIN tid %d nvcsw %d nivcsw %d", &pid, &tid, &v, &i); n == 4 {
				if proc.PID != pid || byTID[tid].TID != tid || proc.Voluntary < v || proc.Involuntary < i {
					t.Errorf("%s: process %+v, it said %s", scheduler, proc, line)
				}
			}
			if n, _ := fmt.Sscanf(line, "AFTER nvcsw %d nivcsw %d", &v, &i); n == 2 {
				if voluntary > v || involuntary > i || voluntary < proc.Voluntary-10 {
					t.Errorf("%s: %d and %d switches by threads, afterwards it had %d and %d", scheduler, voluntary, involuntary, v, i)
				}
			}
		}
		if found != len(messages) {
			t.Errorf("%s: %d of %d threads", scheduler, found, len(messages))
		}
	}
}

func TestKinfoLockBlocked(t *testing.T) {
	b := recordedKinfo(t, "kinfo_proc.proc.ule.bin")
	copy(b[438:], "unp_link\x00")
	if k, err := ParseKinfo(b); err != nil || k[0].LockBlocked || k[0].LockName != "" {
		t.Errorf("%+v, %v: a stale name is no lock", k, err)
	}
	b[376] |= kiLockBlock
	b[389] = 0xfb
	if k, err := ParseKinfo(b); err != nil || !k[0].LockBlocked || k[0].LockName != "unp_link" || k[0].Nice != -5 {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestKinfoRefuses(t *testing.T) {
	b := recordedKinfo(t, "kinfo_proc.proc.ule.bin")
	if _, err := ParseKinfo(b[:len(b)-1]); err == nil {
		t.Error("a torn record was read")
	}
	b[0] = 0
	if _, err := ParseKinfo(b); err == nil || !strings.Contains(err.Error(), "ki_structsize") {
		t.Errorf("another layout: %v", err)
	}
}

func FuzzKinfo(f *testing.F) {
	for _, n := range []string{"kinfo_proc.proc.ule.bin", "kinfo_proc.threads.4bsd.bin"} {
		f.Add(recordedKinfo(f, n))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := ParseKinfo(b); err == nil && len(k)*KinfoSize != len(b) {
			t.Fatalf("%d records of %d bytes", len(k), len(b))
		}
	})
}

func TestStats(t *testing.T) {
	s, err := Stats(sysctl.Parse("kern.sched.stats.reset: 0\nkern.sched.stats.turnstile: 12\nkern.sched.stats.sleepq: 3400\n"))
	if err != nil || len(s) != 2 || s["turnstile"] != 12 || s["sleepq"] != 3400 {
		t.Errorf("%v, %v", s, err)
	}
	d := Since(s, map[string]int64{"turnstile": 20, "sleepq": 1, "new": 5})
	if len(d) != 1 || d["turnstile"] != 8 {
		t.Errorf("%v", d)
	}
	// The recorded kernel has no SCHED_STATS.
	if _, err := Stats(sysctl.Parse("kern.sched.name: ULE\n")); err != ErrNoStats {
		t.Errorf("without the option: %v", err)
	}
}
