// Package report draws runs for a person.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                                                                        ──────
//	[]record.Run ─▶ Summarise ─▶ []Row ─▶ Table
//
// Records in, text out; nothing is measured and nothing is written here. A
// figure that is not there is drawn as "-" with its reason in a footnote, and a
// failed run is counted in its row and listed below, never dropped.
//
// Statistics here are descriptive: medians, ranges, merged histograms. Whether
// one kernel is faster than another is not decided in this package.
package report
