package histogram

import (
	"reflect"
	"testing"
)

func TestCoarseBucketsHoldTheirValues(t *testing.T) {
	next := uint64(0)
	for i := uint64(0); i < 100; i++ {
		low, high := coarseBounds(i, 2)
		if low != next || high < low {
			t.Fatalf("bucket %d is %d to %d, and %d comes next", i, low, high, next)
		}
		next = high + 1
	}
}

func TestCoarseRecord(t *testing.T) {
	if l, h := (Coarse{}).Record(); l != nil || h != nil {
		t.Error("a latency of nothing")
	}
	counts := make([]uint64, 128)
	counts[3], counts[20] = 99, 1 // 3 ns, and 64 to 79 ns
	c := Coarse{SubBits: 2, Counts: counts, Count: 100, Total: 99*3 + 70, Min: 3, Max: 70}
	l, h := c.Record()
	if l.P50 != 3 || l.P99 != 3 || l.P999 != 70 || l.Max != 70 || l.Mean != 3.67 || len(h.Buckets) != 2 {
		t.Errorf("%+v %+v", l, h)
	}

	// What was written is read back, and two halves are the whole.
	back := CoarseFromRecord(l, h)
	if l2, h2 := back.Record(); !reflect.DeepEqual(l, l2) || !reflect.DeepEqual(h, h2) {
		t.Errorf("%+v %+v, and read back %+v %+v", l, h, l2, h2)
	}
	var both Coarse
	both.Merge(Coarse{SubBits: 2, Counts: []uint64{0, 0, 0, 99}, Count: 99, Total: 99 * 3, Min: 3, Max: 3})
	late := make([]uint64, 21)
	late[20] = 1
	both.Merge(Coarse{SubBits: 2, Counts: late, Count: 1, Total: 70, Min: 70, Max: 70})
	both.Merge(Coarse{})
	if l2, h2 := both.Record(); !reflect.DeepEqual(l, l2) || !reflect.DeepEqual(h, h2) {
		t.Errorf("%+v %+v, and merged %+v %+v", l, h, l2, h2)
	}
}
