// Package journal keeps a session on disk, so that a crash of the machine costs
// the run in flight and nothing else.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ series ─▶ comparison ─▶ report
//	                                                       ───────
//	Create or Open ─▶ Append after each run ─▶ Close          Read
//
// A session is a directory:
//
//	environment.json  the machine as the session began; written once
//	plan.json         what is to be measured, in order; written once
//	runs.jsonl        one record.Run a line, without its workers
//	workers.jsonl     one record.Workers a line, of the run with the same seq
//
// Each line is appended whole by one write and synced before the next run
// starts, the workers first: a run that can be read has its workers on disk. A
// crash can leave a torn last line, or workers without their run. Read passes
// both over and says so; Open cuts them off.
//
// The directory is locked while it is written to. Reading needs no lock.
package journal
