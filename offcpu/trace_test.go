package offcpu

import (
	"testing"

	"udsbench/record"
)

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
