// Package compare sets two or more sides against each other, cell by cell, and
// says faster, slower, same, undecided or failed: with an interval, and with
// the reason where the data give one.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                                                            ──────────
//	[]Side ─▶ Compare ─▶ Result ─▶ WriteTable, WriteJSON, Explain; Status for scripts
//
//	sample.go      runs ─▶ units (boots, or runs) ─▶ logarithms
//	difference.go  two samples ─▶ ratio, interval and p, one statistic (Welch's t)
//	holm.go        p-values of all cells ─▶ adjusted p-values
//	verdict.go     interval and adjusted p ─▶ the word
//	need.go        variance at each level ─▶ how many more boots or runs would decide
//	factor.go      one pool of runs ─▶ sides by a factor's levels
//	effect.go      what a factor does on the average over cells
//	confound.go    two environments ─▶ what differs besides, in plain words
//	warn.go        what the series have in them that a reader should know
//	timesplit.go, ladder.go, usl.go, attribution.go   why a cell moved
//	self.go        one session against itself: false alarms and power
//
// Everything is computed on natural logarithms and shown as ratios or
// percent. docs/statistics.md says what each step assumes and how often it
// errs in simulation.
package compare
