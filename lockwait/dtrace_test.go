package lockwait

import (
	"strings"
	"testing"

	"udsbench/record"
)

// The text is made as the script prints it; no recorded one is at hand.
func TestDTrace(t *testing.T) {
	rows, err := ParseDTrace("\nsx-block\tso_rcv_sx\t3\t4500\t2000\nadaptive-spin\tunp\t10\t9000\t1200\nspin-spin\tsched lock 0\t1\t70\t70\n\nend\n")
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	r := rows[0]
	if r.Site != "unp" || r.Kind != "adaptive-spin" || r.Class != record.ClassSocket || r.Where != record.InWorkers || *r.Count != 10 || *r.TotalNS != 9000 || *r.MaxNS != 1200 {
		t.Errorf("first row %+v", r)
	}
	if rows[2].Site != "sched lock 0" || rows[2].Class != record.ClassScheduler {
		t.Errorf("last row %+v", rows[2])
	}
	if rows, err := ParseDTrace("ready\nend\n"); err != nil || len(rows) != 0 {
		t.Errorf("no waits: %v, %v", rows, err)
	}
	for _, bad := range []string{"", "unp\t1\t2\t3\nend\n", "rw-block\tunp\t1\t2\t-3\nend\n", "rw-block\tunp\t1\t2\tx\nend\n", "rw-block\tunp\t1\t2\t3\n", "lockmgr-spin\tufs\t1\t2\t3\nend\n"} {
		if _, err := ParseDTrace(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// Each probe is in the script once, and its lock is of the probe's kind.
func TestDTraceScript(t *testing.T) {
	for _, p := range dtraceProbes {
		if strings.Count(dtraceScript, "lockstat:::"+p) != 1 {
			t.Errorf("lockstat:::%s is not in the script once", p)
		}
	}
	if strings.Count(dtraceScript, "lockstat:::") != len(dtraceProbes) {
		t.Error("the script has probes that are not listed")
	}
}

func FuzzDTrace(f *testing.F) {
	f.Add("ready\nsx-block\tso_rcv_sx\t3\t4500\t2000\nend\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ParseDTrace(text)
		if err != nil {
			return
		}
		for _, r := range rows {
			if r.Site == "" || *r.Count < 0 || *r.TotalNS < 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
