package lockwait

// sources lists what Linux has, the best first.
func sources(o Options) []Source {
	return []Source{newEBPF(o), newPerf(o), newLockstat(), newWchan()}
}
