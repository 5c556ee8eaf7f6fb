// Package histogram counts times in log-linear buckets.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                 │           │                                             │
//	                               Index    Merge, Record                            FromRecord, Quantile
//
// Workers call Index inside the timed loop and count into plain memory of
// their own; afterwards the coordinator merges those counts into a Histogram
// and writes it into the run record, from which every reader rebuilds it.
//
// Values are nanoseconds. Below 1<<SubBits each has a bucket to itself; above,
// every power of two is cut into 1<<SubBits buckets of equal width, so that a
// bucket's middle is within 1/256 (0.4 %) of each value in it.
package histogram
