package offcpu

import (
	"cmp"
	"slices"

	"udsbench/record"
)

// Options say what a Trace watches.
type Options struct {
	PIDs []int // processes, all their threads included
	// Threads are the workers among a process's threads: of a process that has
	// some here, no others are watched. nil: all are.
	Threads map[int][]int
	Stacks  bool // why they slept by function, not by system call; doubles the cost of a ping-pong
	Depth   int  // frames of a stack, 1 to 127; 0: the default
}

// ByDistance sums pairs of CPUs by the distance between the two, as level
// names it ("same CPU", "same core", …).
func ByDistance(pairs []record.CPUPair, level func(from, to int) string) map[string]int64 {
	out := map[string]int64{}
	for _, p := range pairs {
		out[level(p.From, p.To)] += p.N
	}
	return out
}

// sortSleeps puts the greatest summed sleep first.
func sortSleeps(s []record.Sleep) {
	slices.SortStableFunc(s, func(a, b record.Sleep) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Caller, b.Caller))
	})
}
