// Package series puts the runs of one cell under one boot in order and says
// what they are worth as a sample: where start-up ends, which runs stand
// apart, whether runs follow each other, whether the machine drifted.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                                                  ──────
//	Of(runs, metric) ─▶ []Series ─▶ Keep(discard) ─▶ values, in order
//
// All that is decided here is decided on logarithms, so that a change of 3 %
// is the same change at every rate. The package judges nothing: it hands on
// values, with what was found in them. docs/statistics.md says why each method
// was chosen and how often it errs.
package series
