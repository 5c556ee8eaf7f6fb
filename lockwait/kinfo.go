package lockwait

import (
	"slices"

	"udsbench/record"
	"udsbench/sched"
)

// kinfoBlind is what sampling FreeBSD's threads cannot see.
var kinfoBlind = []string{
	"how often and how long: a sample is a thread seen waiting, no more",
	"waits that spin: adaptive locks spin while their owner runs, and their waiters look running",
	"more than the first 8 characters of a lock's name",
	bouncing,
}

// sightOfKinfo says what a FreeBSD thread waits for: a lock (top shows those
// as *name), or a wait message.
func sightOfKinfo(k sched.Kinfo) *sight {
	switch {
	case k.LockBlocked && k.LockName != "":
		// Names are cut at 8 characters: classes go by their beginnings.
		return &sight{"*" + k.LockName, "blocked on a lock", classOfLock(k.LockName), record.InWorkers}
	case k.WaitMessage != "" && (k.State == sched.StateSleep || k.State == sched.StateWait || k.State == sched.StateLock):
		// Who sleeps for an sx or lockmgr lock has its name for a message.
		class := classOfLock(k.WaitMessage)
		switch k.WaitMessage {
		case "sbwait", "accept", "soclos", "unpgc":
			class = record.ClassSocket
		case "uwait", "umtxn", "urdlck", "uwrlck", "usem", "ucond":
			class = record.ClassUser
		case "kqread", "select":
			class = record.ClassDescriptors
		case "piperd", "pipewr", "pipdwt":
			class = record.ClassVFS
		}
		return &sight{k.WaitMessage, "asleep", class, record.InWorkers}
	}
	return nil
}

// sightsOfKinfo gives what the working threads of a process wait for.
func sightsOfKinfo(t Target, pid int, threads []sched.Kinfo) (out []*sight) {
	for _, k := range threads {
		if own := t.Threads[pid]; len(own) > 0 && !slices.Contains(own, k.TID) {
			continue
		}
		s := sightOfKinfo(k)
		if s != nil && s.class == record.ClassUser && t.goroutines(pid) {
			s.where = record.InRuntime // between goroutines
		}
		out = append(out, s)
	}
	return out
}
