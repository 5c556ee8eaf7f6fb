package main

import "testing"

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		status int
	}{
		{0.99, 1.01, 0}, {0.985, 1.03, 0}, {0.97, 0.99, 0}, // across an edge of the band: not shown
		{0.90, 0.975, 1}, {1.025, 1.1, 1},
		{0.1, 0.9, 3}, {1.025, 1.2, 3}, // outside, but so wide that it tells nothing
		{0.9, 1.1, 3}, {0.5, 2, 3},
	} {
		if said, status := verdict(c.lo, c.hi); status != c.status {
			t.Errorf("%v to %v: status %d (%s), want %d", c.lo, c.hi, status, said, c.status)
		}
	}
}
