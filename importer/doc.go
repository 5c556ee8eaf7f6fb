// Package importer turns results of other programs, and our own sessions, into
// runs, so that they stand in one comparison.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                         ──────────
//	Open(path) ─▶ []Set ─▶ series          Set.Runs are run records
//
// Formats: super-smack's and sysbench's output, one number a line (ministat),
// the Go benchmark format, CSV and tab-separated tables, and our own records.
// Each has one file here, and a fuzz target.
//
// What a format does not say is absent, never a zero: an imported run names no
// boot, so runs are its unit, and its cell has only the fields that the text or
// the caller gave.
package importer
