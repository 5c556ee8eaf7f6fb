// Package locktable draws the lock tables of sessions: by cell, by class, one
// session or two side by side, with what the instrument cost and what its source
// could not see.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                              │                                           ▲
//	                       []record.Run of sessions ─▶ Tables ─▶ Write, WriteJSON, … ─────────┘
//
// Rows come from package lockwait by way of run records. Waits that other tools
// summed (ReadPFS) take the same way, as data.
//
// A figure that a source does not tell, or a site that a side has not seen, is
// "-", and a table without rows is "not observed": never 0.
package locktable
