package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Instruments are what an instrumented run can look at.
var Instruments = []string{"locks", "sched", "counters", "all"}

// Bounds of Instrument.Depth. Fewer frames end inside the tracer's and the
// lock's own functions, before the one that waits; more than 127 no kernel gives.
const (
	MinDepth = 8
	MaxDepth = 127
)

// Instrument is what the instrumented runs of a plan look at, and how, as
// --instrument says it: one of Instruments and its options, joined by +.
type Instrument struct {
	What     string // one of Instruments; "": there are no instrumented runs
	Stacks   bool   // stacks of sleeps (sched, all)
	NoStacks bool   // none of lock waits: cheaper, and sites are system calls (locks, all)
	Depth    int    // frames of a lock wait's stack, MinDepth to MaxDepth; 0: the source's own (locks, all)
	Source   string // of lock waits, by name; "": the best that is available (locks, all)

	Contested bool // of lockprof: only acquisitions that found the lock taken (locks, all)
}

// Has reports whether name, one of Instruments but all, is looked at.
func (i Instrument) Has(name string) bool { return i.What == name || i.What == "all" }

// ParseInstrument reads the value of --instrument. The names of lock sources
// differ by system and are not checked here. Errors are a UsageError.
func ParseInstrument(value string) (Instrument, error) {
	wrong := func(format string, args ...any) (Instrument, error) {
		return Instrument{}, &UsageError{"instrument", value, fmt.Sprintf(format, args...)}
	}
	words := strings.Split(value, "+")
	i := Instrument{What: words[0]}
	if !slices.Contains(Instruments, i.What) {
		return wrong("give one of %s, with options as in sched+stacks or locks+nostacks", strings.Join(Instruments, ", "))
	}
	seen := map[string]bool{}
	for _, word := range words[1:] {
		name, number, _ := strings.Cut(word, "=")
		of := "locks"
		switch {
		case seen[name]:
			return wrong("%s stands twice", name)
		case word == "stacks":
			i.Stacks, of = true, "sched"
		case word == "nostacks":
			i.NoStacks = true
		case word == "contested":
			i.Contested = true
		case name == "depth":
			n, err := strconv.Atoi(number)
			if err != nil || n < MinDepth || n > MaxDepth {
				return wrong("depth is a number of frames from %d to %d, as in depth=16", MinDepth, MaxDepth)
			}
			i.Depth = n
		case name == "source" && number != "":
			i.Source = number
		default:
			return wrong("the option %q is not known: sched has stacks; locks has nostacks, depth=N, contested and source=NAME; all has them all", word)
		}
		if seen[name] = true; !i.Has(of) {
			return wrong("%s is an option of %s and all", name, of)
		}
	}
	if i.NoStacks && i.Depth > 0 {
		return wrong("without stacks there is no depth: leave one of the two out")
	}
	return i, nil
}
