package compare

import (
	"strings"
	"testing"

	"udsbench/record"
	"udsbench/series"
)

// Sides whose spin was calibrated apart did not do the same work.
func TestWorkApartIsWarnedOf(t *testing.T) {
	cells := []record.Cell{cell("profile:x", "unix-stream", 1)}
	for _, c := range []struct {
		after float64
		warns bool
	}{{1005, false}, {1030, true}} {
		a, b := campaign(1, "a", 2, 5, cells, flat), campaign(2, "b", 2, 5, cells, flat)
		for i := range a {
			a[i].Spin, b[i].Spin = &record.Spin{PerUS: 1000}, &record.Spin{PerUS: c.after}
		}
		r, err := Compare(Input{Sides: []Side{{Name: "a", Runs: a}, {Name: "b", Runs: b}}, Threshold: 0.02, Discard: series.Auto})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(table(t, r), "calibrated up to 3.0 % apart"); got != c.warns {
			t.Errorf("%g turns against 1000: warned %v\n%s", c.after, got, table(t, r))
		}
	}
}
