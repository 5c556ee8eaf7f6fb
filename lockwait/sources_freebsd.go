package lockwait

// sources lists what FreeBSD has, the best first.
func sources(o Options) []Source {
	return []Source{&lockprof{sys: live(), contested: o.NoStacks}, newDTrace(), newKinfo()}
}
