package environ

import "time"

// Figure is a count, or the reason why there is none.
type Figure struct {
	Value int64
	Why   string // "" where Value is a figure
}

// OK says that Value is a figure.
func (f Figure) OK() bool { return f.Why == "" }

// HostCounters are what the whole machine has done since it booted. They are
// read on both sides of a window; only differences mean something.
//
// Linux counts CPU time in ticks of 10 ms (USER_HZ), summed over all CPUs and
// rounded down once, and on most kernels learns of it by sampling at timer
// interrupts (250 times a second is usual), so a busy figure over a window of
// one second is good to about 10 ms and 2 %. FreeBSD samples each
// CPU stathz (usually 127) times a second.
type HostCounters struct {
	At        time.Time // when the reading began
	BusyNS    Figure    // CPU time of all tasks and interrupts, all CPUs; without idle, waiting for I/O and steal
	StealNS   Figure    // time that the hypervisor gave to others while a CPU here wanted to run, all CPUs
	IrqNS     Figure    // hard and soft interrupts, all CPUs; part of BusyNS
	Throttled Figure    // periods in which a CPU quota stopped a cgroup that this process is in
	FreqKHz   Figure    // current frequency, mean over at most 8 of the frequency domains, evenly spread
}

// HostDelta is what the machine did between two readings.
type HostDelta struct {
	Wall      time.Duration // from the beginning of one reading to the beginning of the other
	BusyNS    Figure
	StealNS   Figure
	IrqNS     Figure
	Throttled Figure
	FreqKHz   Figure // no difference: as the later reading has it
}

// Delta is what happened from reading a to the later reading b. A counter
// that one of them lacks, or that ran backwards (as Linux's steal time may),
// is not available in the difference.
func (a HostCounters) Delta(b HostCounters) HostDelta {
	return HostDelta{
		Wall:      b.At.Sub(a.At),
		BusyNS:    since(a.BusyNS, b.BusyNS),
		StealNS:   since(a.StealNS, b.StealNS),
		IrqNS:     since(a.IrqNS, b.IrqNS),
		Throttled: since(a.Throttled, b.Throttled),
		FreqKHz:   b.FreqKHz,
	}
}

func since(a, b Figure) Figure {
	switch {
	case !a.OK():
		return Figure{Why: a.Why}
	case !b.OK():
		return Figure{Why: b.Why}
	case b.Value < a.Value:
		return Figure{Why: "the kernel's counter ran backwards"}
	}
	return Figure{Value: b.Value - a.Value}
}
