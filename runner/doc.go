// Package runner executes one cell once: it starts the workers, opens the
// gates, reads the operation counters while the window is open, and returns
// the record.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ RUN RECORD ─▶ journal ─▶ …
//
// It is the coordinator of the design's rules. It tells the time and counts
// nothing: what a worker did is in the worker's own slot (package pingpong).
// Whatever happens, Run leaves no process and no file behind; what happens to
// the coordinator itself is the business of package janitor.
package runner
