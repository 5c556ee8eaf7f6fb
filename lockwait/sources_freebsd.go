package lockwait

// tunable is which options each source takes; "" is whichever is the best.
var tunable = map[string][]string{"": {"contested"}, "lockprof": {"contested"}}

// sources lists what FreeBSD has, the best first.
func sources(o Options) []Source {
	return []Source{newLockProf(live(), o.Contested), newDTrace(), newKinfo()}
}
