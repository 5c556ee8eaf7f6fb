// Package pingpong holds the workers: the sockets, the timed loops and the
// workloads.
//
//	flags ─▶ plan ─▶ placement ─▶ WORKERS ─▶ run record ─▶ journal ─▶ …
//
// A worker process is a re-execution of the same binary (see WorkerMain). It
// reads a Spec from an inherited pipe, maps the shared Memory that the
// coordinator (package runner) made, and runs one worker (model process) or
// many (models thread and goroutine). Worker and coordinator talk only through
// that mapping: the coordinator turns the phase word, workers count.
//
// In the models process and thread a worker's loop runs on a locked thread
// between one runtime.entersyscall and one runtime.exitsyscall (engine.go). To
// the Go runtime the loop is one long system call: no P is held, no preemption
// signal arrives, the collector never waits, and never looks at the frames
// below. What runs there is therefore nosplit, norace, allocates nothing,
// stores no pointer, and makes raw system calls on blocking descriptors only.
//
// A workload is one file (pingpong.go, fanin.go, …) that registers itself:
// what one operation is for each role, how the ends are wired, how it stops,
// and for which lock scopes it is a target or a null.
package pingpong
