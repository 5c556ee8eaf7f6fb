package offcpu

import (
	"testing"

	"udsbench/record"
)

func TestBucketsHoldTheirValues(t *testing.T) {
	next := uint64(0)
	for i := uint64(0); i < 100; i++ {
		low, high := bounds(i, 2)
		if low != next || high < low {
			t.Fatalf("bucket %d is %d to %d, and %d comes next", i, low, high, next)
		}
		next = high + 1
	}
}

func TestLatencyOf(t *testing.T) {
	if l, h := latencyOf(0, 0, 0, 0, 2, nil); l != nil || h != nil {
		t.Error("a latency of nothing")
	}
	hist := make([]uint64, 128)
	hist[3], hist[20] = 99, 1 // 3 ns, and 64 to 79 ns
	l, h := latencyOf(100, 99*3+70, 3, 70, 2, hist)
	if l.P50 != 3 || l.P99 != 3 || l.P999 != 70 || l.Max != 70 || l.Mean != 3.67 || len(h.Buckets) != 2 {
		t.Errorf("%+v %+v", l, h)
	}
}

func TestByDistance(t *testing.T) {
	got := ByDistance([]record.CPUPair{{From: 0, To: 1, N: 3}, {From: 1, To: 0, N: 4}, {From: 0, To: 0, N: 5}}, func(a, b int) string {
		if a == b {
			return "same CPU"
		}
		return "other CPU"
	})
	if got["same CPU"] != 5 || got["other CPU"] != 7 || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
