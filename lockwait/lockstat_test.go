package lockwait

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"udsbench/record"
)

func readLockStat(t *testing.T, name string) ([]Row, error) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/lockstat", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return ParseLockStat(f)
}

func find(rows []Row, site, kind string) *Row {
	for i := range rows {
		if rows[i].Site == site && rows[i].Kind == kind {
			return &rows[i]
		}
	}
	return nil
}

func TestLockStatRecorded(t *testing.T) {
	for _, c := range []struct {
		file, site, kind, class string
		rows                    int
		count, total, acquired  int64
		points, holders         int
		point                   record.LockPoint
	}{
		{"lock_stat-0.4-mmap-unix.txt", "&mm->mmap_sem", "lock:write", record.ClassMemory, 3, 84, 16371530, 2922365, 4, 4, record.LockPoint{At: "khugepaged_scan_mm_slot+0x57/0x280", Count: 1}},
		{"lock_stat-0.4-mmap-unix.txt", "&mm->mmap_sem", "lock:read", record.ClassMemory, 3, 100, 325629520, 34316685, 4, 4, record.LockPoint{At: "khugepaged_scan_mm_slot+0x57/0x280", Count: 1}},
		{"lock_stat-0.4-mmap-unix.txt", "unix_table_lock", "lock", record.ClassSocket, 3, 112, 163910, 66312, 4, 4, record.LockPoint{At: "unix_create1+0x16e/0x1b0", Count: 45}},
		{"lock_stat-0.4-rq-nested.txt", "&rq->lock/1", "lock", record.ClassScheduler, 2, 11488, 136294310, 38404, 1, 4, record.LockPoint{At: "double_rq_lock+0x4f/0x54", Count: 11526}},
		{"lock_stat-0.4-rq-nested.txt", "&rq->lock", "lock", record.ClassScheduler, 2, 13128, 103881260, 3453404, 4, 4, record.LockPoint{At: "task_rq_lock+0x43/0x75", Count: 645}},
		{"lock_stat-0.4-grep-head.txt", "&(&dentry->d_lockref.lock)->rlock", "lock", record.ClassVFS, 10, 40179, 88851960, 12527025, 0, 0, record.LockPoint{}},
		{"lock_stat-0.3-res-counter-before.txt", "&counter->lock", "lock", record.ClassOther, 1, 1196935, 829793690, 45050576, 2, 2, record.LockPoint{At: "res_counter_charge+0x45/0xe0", Count: 638151}},
		{"lock_stat-0.3-res-counter-after.txt", "&counter->lock", "lock", record.ClassOther, 1, 12984, 6768240, 4937090, 2, 2, record.LockPoint{At: "res_counter_uncharge+0x2d/0x60", Count: 11117}},
		{"lock_stat-0.4-vmap-64cpu.txt", "vmap_blocks.xa_lock", "lock", record.ClassMemory, 4, 862698, 849325390, 3005709, 2, 2, record.LockPoint{At: "vm_map_ram+0x359/0x4a0", Count: 378418}},
	} {
		rows, err := readLockStat(t, c.file)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		r := find(rows, c.site, c.kind)
		if len(rows) != c.rows || r == nil {
			t.Errorf("%s: %d rows, want %d with %s %s", c.file, len(rows), c.rows, c.kind, c.site)
			continue
		}
		if *r.Count != c.count || *r.TotalNS != c.total || *r.Acquired != c.acquired || r.Class != c.class {
			t.Errorf("%s %s: count %d, total %d ns, acquired %d, class %s", c.file, c.site, *r.Count, *r.TotalNS, *r.Acquired, r.Class)
		}
		if len(r.Points) != c.points || len(r.Holders) != c.holders || c.points > 0 && r.Points[0] != c.point {
			t.Errorf("%s %s: points %v, holders %v", c.file, c.site, r.Points, r.Holders)
		}
	}
}

func TestLockStatAllColumns(t *testing.T) {
	rows, err := readLockStat(t, "lock_stat-0.4-mmap-unix.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"con-bounces": 46, "contentions": 84, "waittime-min": 0.26, "waittime-max": 939.10, "waittime-total": 16371.53, "waittime-avg": 194.90,
		"acq-bounces": 47291, "acquisitions": 2922365, "holdtime-min": 0.16, "holdtime-max": 2220301.69, "holdtime-total": 17464026916.32, "holdtime-avg": 5975.99}
	r := find(rows, "&mm->mmap_sem", "lock:write")
	if len(r.Columns) != len(want) {
		t.Errorf("%d columns, want %d", len(r.Columns), len(want))
	}
	for c, v := range want {
		if r.Columns[c] != v {
			t.Errorf("%s is %v, want %v", c, r.Columns[c], v)
		}
	}
}

// Statistics that lockdep stopped keeping are no statistics.
func TestLockStatDisabled(t *testing.T) {
	if rows, err := readLockStat(t, "lock_stat-0.4-disabled.txt"); !errors.Is(err, errLockdepOff) || rows != nil {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestLockStatRefuses(t *testing.T) {
	for _, text := range []string{
		"lock_stat version 0.5\n",
		"a: 1 2 3\n",
		"nonsense\n",
		"a: 1 2 x 4 5 6 7 8 9 10\n",
		"   a   1  [<ffffffff>] f+0x1/0x2\n",
		"a: 1 2 -3 4 5 6 7 8 9 10\n",
	} {
		if rows, err := ParseLockStat(strings.NewReader(text)); err == nil {
			t.Errorf("%q gave %d rows", text, len(rows))
		}
	}
}

func FuzzLockStat(f *testing.F) {
	names, _ := filepath.Glob("testdata/lockstat/*")
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ParseLockStat(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range rows {
			if *r.Count < 0 || *r.TotalNS < 0 || r.Class == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}
