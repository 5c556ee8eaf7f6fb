package lockwait

// tunable is which options each source takes; "" is whichever is the best.
var tunable = map[string][]string{"": {"nostacks", "depth"}, "ebpf": {"nostacks", "depth"}, "perf": {"nostacks", "depth"}}

// sources lists what Linux has, the best first.
func sources(o Options) []Source {
	return []Source{newEBPF(o), newPerf(o), newLockstat(), newWchan()}
}
