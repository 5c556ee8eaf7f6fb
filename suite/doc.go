// Package suite reads named sets of lists.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	  └ suite ┘
//
// A suite is a text file of what could stand on the command line of run, one
// flag a line without its dashes:
//
//	# What the suite is for: the first comment is its description.
//	runs 3
//	workload pingpong,fanin
//	parallel 1,10,100
//	---
//	workload selfpair
//	param depth=1,4
//
// A blank line or --- ends a product; the suite measures the union of its
// products. Single values (runs, window, …) hold for the whole suite, wherever
// they stand. Flags given beside a suite take the place of its lists and
// values. The files in suites/ are built in; copies of them, changed, are
// given by path.
package suite
