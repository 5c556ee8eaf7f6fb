package plan

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Settings are the single values that hold for all cells of a plan.
type Settings struct {
	Runs    int           // of each cell, and so the number of blocks; from 1
	Discard int           // first runs of each cell that are recorded but left out of its figures; below Runs
	Window  time.Duration // 1 ms or more
	Warmup  time.Duration // 0 or more
	Slice   time.Duration // at most Window; 0: 100 ms, or Window where that is shorter
	Ops     uint64        // operations a client after which a run ends; 0: it ends after Window
	Seed    uint64        // of the order

	Paired string // the flag whose levels take turns in short slices, or "nothing" for A/A; "": runs stand alone
	ABSelf bool   // each cell is run twice a block, as A and as B, to be set against itself
	// IdleLatency bounds, in µs, how long a CPU may take to wake from idle while
	// the session lasts; "": nothing is asked for.
	IdleLatency string

	Instrument string // what instrumented runs, interleaved with the timed ones, look at, see ParseInstrument; "": there are none
}

// DefaultSettings hold where neither a suite nor a flag says otherwise. The
// seed is fixed, so that the same flags give the same plan.
func DefaultSettings() Settings {
	return Settings{Runs: 10, Window: time.Second, Warmup: 200 * time.Millisecond, Seed: 1}
}

// SettingFlags are the names that Settings.Set takes.
var SettingFlags = []string{"runs", "discard", "window", "warmup", "slice", "ops", "seed", "paired", "idle-latency", "instrument"}

// Set reads one setting as it is written on the command line or in a suite.
func (s *Settings) Set(flag, value string) (err error) {
	switch flag {
	case "runs":
		s.Runs, err = Int(flag, value, 1, 100_000)
	case "discard":
		s.Discard, err = Int(flag, value, 0, 100_000)
	case "window":
		s.Window, err = Duration(flag, value, time.Millisecond, time.Hour)
	case "warmup":
		s.Warmup, err = Duration(flag, value, 0, time.Hour)
	case "slice":
		s.Slice, err = Duration(flag, value, time.Millisecond, time.Hour)
	case "ops":
		s.Ops, err = unsigned(flag, value, 1)
	case "seed":
		s.Seed, err = unsigned(flag, value, 0)
	case "paired":
		if value == "" {
			return &UsageError{flag, value, "is given and empty: name a flag or nothing, or leave it out"}
		}
		s.Paired = value
	case "idle-latency":
		var n int
		n, err = Int(flag, value, 0, 1_000_000)
		s.IdleLatency = strconv.Itoa(n)
	case "instrument":
		if _, err := ParseInstrument(value); err != nil {
			return err
		}
		s.Instrument = value
	default:
		err = &UsageError{flag, value, "there is no such setting"}
	}
	return err
}

func unsigned(flag, value string, least uint64) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n < least || n > math.MaxInt64 {
		return 0, &UsageError{flag, value, fmt.Sprintf("give a whole number from %d to %d", least, math.MaxInt64)}
	}
	return n, nil
}

// check refuses settings that contradict each other.
func (s Settings) check() error {
	if s.Discard >= s.Runs {
		return &UsageError{"discard", strconv.Itoa(s.Discard), fmt.Sprintf("leaves none of %d runs: raise --runs or lower --discard", s.Runs)}
	}
	if s.ABSelf && (s.Paired != "" || s.Instrument != "") {
		return &UsageError{"ab-self", "", "sets whole runs against each other: leave --paired and --instrument out (--paired nothing is A/A by turns)"}
	}
	if s.Paired != "" && s.Ops > 0 {
		return &UsageError{"paired", s.Paired, "levels take turns by time: leave --ops out"}
	}
	if s.Paired != "" && s.Instrument != "" {
		return &UsageError{"paired", s.Paired, "instruments see all levels at once: leave --instrument out"}
	}
	if s.Slice > s.Window && s.Ops == 0 {
		return &UsageError{"slice", s.Slice.String(), fmt.Sprintf("is longer than the window of %v: lower --slice or raise --window", s.Window)}
	}
	return nil
}

// slice gives the length of a slice.
func (s Settings) slice() time.Duration {
	switch {
	case s.Slice != 0:
		return s.Slice
	case s.Paired != "":
		return min(10*time.Millisecond, s.Window)
	case s.Ops == 0:
		return min(100*time.Millisecond, s.Window)
	}
	return 100 * time.Millisecond
}
