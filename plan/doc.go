// Package plan turns lists of values into cells, and cells into an ordered
// plan of runs.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	         ────
//	Lists ─▶ product ─▶ Catalogue.Fill ─▶ Catalogue.Check ─▶ cells ─▶ shuffled blocks
//
// It knows the flags and their ranges, and nothing of sockets: what a workload
// wants by default and which combinations exist is asked of a Catalogue. All
// is plain values, nothing here touches the machine.
//
// A block holds one run of every cell in random order, and there are as many
// blocks as runs. What drifts on the machine (temperature, other load) then
// falls on all cells alike, where measuring cell by cell would charge it to
// some of them.
package plan
