package janitor

import (
	"os"
	"slices"
	"testing"
)

// The bytes are what a FreeBSD 15 kernel returned for a process and for its
// threads.
func TestPIDsOf(t *testing.T) {
	one, err := os.ReadFile("../sched/testdata/kinfo_proc.proc.ule.bin")
	if err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadFile("../sched/testdata/kinfo_proc.threads.ule.bin")
	if err != nil {
		t.Fatal(err)
	}
	pid := pidsOf(one)
	if len(pid) != 1 || pid[0] < 1 {
		t.Fatalf("processes %v", pid)
	}
	all := pidsOf(threads)
	if len(all) != len(threads)/len(one) || len(slices.Compact(all)) != 1 || all[0] != pid[0] {
		t.Errorf("threads of process %v: %v", pid, all)
	}
	if got := pidsOf(threads[:len(one)+100]); len(got) != 1 {
		t.Errorf("a torn second record gives %v", got)
	}
	one[0], one[1] = 0, 0
	if got := pidsOf(one); got != nil {
		t.Errorf("a record of no length gives %v", got)
	}
}

func TestNames(t *testing.T) {
	for line, want := range map[string]bool{
		"/init\x00__worker\x00/tmp/udsbench.1\x00": true,
		"/init\x00__worker\x00/tmp/udsbench.2\x00": false,
		"/init\x00run\x00/tmp/udsbench.1\x00":      false,
		"/init\x00__worker\x00":                    false,
		"":                                         false,
	} {
		if names([]byte(line), "/tmp/udsbench.1") != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}
