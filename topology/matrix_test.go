package topology

import (
	"strings"
	"testing"
)

func TestMatrixTakesEveryPairOfASmallMachine(t *testing.T) {
	m, err := Describe("opteron-4x2")
	if err != nil {
		t.Fatal(err)
	}
	rungs, err := m.Expand("matrix")
	if err != nil {
		t.Fatal(err)
	}
	if len(rungs) != 8*9/2 {
		t.Errorf("%d pairs of 8 CPUs, want 36", len(rungs))
	}
	classes := map[string]int{}
	for _, r := range rungs {
		classes[r.Label]++
		if _, err := m.Place(r.Placement, pairsOf(1)); err != nil {
			t.Errorf("%s: %v", r.Placement, err)
		}
	}
	// 8 CPUs with themselves, 4 dies of two, a square of packages: 4 sides and 2
	// diagonals, of 2 × 2 CPUs each.
	want := map[string]int{"across packages, NUMA distance 16": 16, "across packages, NUMA distance 22": 8}
	for class, n := range want {
		if classes[class] != n {
			t.Errorf("%d pairs %s, want %d: %v", classes[class], class, n, classes)
		}
	}
}

func TestMatrixOfALargeMachineIsOnePairOfEachClass(t *testing.T) {
	m, err := Describe("pack:4 numa:2 l3:2 core:8 pu:2")
	if err != nil {
		t.Fatal(err)
	}
	rungs, err := m.Expand("matrix")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rungs {
		if seen[r.Label] {
			t.Errorf("two pairs %s", r.Label)
		}
		seen[r.Label] = true
	}
	var labels []string
	for l := range seen {
		labels = append(labels, l)
	}
	if len(rungs) < 5 || len(rungs) > 10 {
		t.Errorf("%d classes: %s", len(rungs), strings.Join(labels, "; "))
	}
}
