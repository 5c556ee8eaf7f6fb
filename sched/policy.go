package sched

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Policy is how a thread is to be scheduled. The zero Policy is "other" with
// nothing else asked for.
type Policy struct {
	Class    string        // other, batch, idle, fifo, rr, deadline, ext; "" is other
	Priority int           // of fifo and rr, from 1 (lowest)
	Runtime  time.Duration // of deadline: so much in every period
	Deadline time.Duration // of deadline: by then in every period
	Period   time.Duration // of deadline
	Slice    time.Duration // of other and batch: the time slice to ask for, 0: the kernel's
	UtilMin  int           // utilisation clamps, 0 to 1024; -1: not asked for
	UtilMax  int
	Clamped  bool // UtilMin or UtilMax is asked for
}

// TopPriority is the highest real-time priority that a worker may have: the
// coordinator, which ends the run, has the one above it.
const TopPriority = 98

// PolicyHelp says what ParsePolicy takes.
const PolicyHelp = "other, batch, idle, fifo[:P], rr[:P], deadline:RUNTIME/DEADLINE/PERIOD or ext, then any of +slice=TIME, +umin=N, +umax=N"

// ParsePolicy reads a policy:
//
//	other | batch | idle | ext
//	fifo[:P] | rr[:P]      P from 1 to 98, 1 unless given
//	deadline:R/D/P         times with their units, as 1ms/10ms/10ms, R ≤ D ≤ P
//
// and, joined by +, slice=TIME (other and batch), umin=N and umax=N (0 to 1024).
func ParsePolicy(text string) (Policy, error) {
	wrong := func(format string, args ...any) (Policy, error) {
		return Policy{}, fmt.Errorf("policy %q: %s", text, fmt.Sprintf(format, args...))
	}
	words := strings.Split(text, "+")
	class, arg, has := strings.Cut(words[0], ":")
	p := Policy{Class: class, UtilMin: -1, UtilMax: -1}
	switch class {
	case "other", "batch", "idle", "ext":
		if has {
			return wrong("%s takes nothing after a colon", class)
		}
	case "fifo", "rr":
		p.Priority = 1
		if has {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 1 || n > TopPriority || arg != strconv.Itoa(n) {
				return wrong("the priority must be 1 to %d (above it is the coordinator, which ends the run)", TopPriority)
			}
			p.Priority = n
		}
	case "deadline":
		parts := strings.Split(arg, "/")
		if len(parts) != 3 {
			return wrong("deadline takes RUNTIME/DEADLINE/PERIOD, as deadline:1ms/10ms/10ms")
		}
		for i, to := range []*time.Duration{&p.Runtime, &p.Deadline, &p.Period} {
			d, err := time.ParseDuration(parts[i])
			if err != nil || d <= 0 {
				return wrong("%q is no time with a unit, as 1ms or 500us", parts[i])
			}
			*to = d
		}
		// sched_setattr(2): runtime is at least 1024 ns, and in this order.
		if p.Runtime < 1024 || p.Runtime > p.Deadline || p.Deadline > p.Period {
			return wrong("must be 1024ns ≤ runtime ≤ deadline ≤ period")
		}
	default:
		return wrong("must be %s", PolicyHelp)
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "slice":
			d, err := time.ParseDuration(value)
			// The kernel clamps to this range without a word.
			if err != nil || d < 100*time.Microsecond || d > 100*time.Millisecond {
				return wrong("slice must be 100us to 100ms")
			}
			if class != "other" && class != "batch" {
				return wrong("%s has no slice", class)
			}
			p.Slice = d
		case "umin", "umax":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > 1024 || value != strconv.Itoa(n) {
				return wrong("%s must be 0 to 1024", name)
			}
			p.Clamped = true
			if name == "umin" {
				p.UtilMin = n
			} else {
				p.UtilMax = n
			}
		default:
			return wrong("%q is none of slice=TIME, umin=N, umax=N", w)
		}
	}
	if p.UtilMin >= 0 && p.UtilMax >= 0 && p.UtilMin > p.UtilMax {
		return wrong("umin is above umax")
	}
	return p, nil
}

// String writes p as ParsePolicy reads it.
func (p Policy) String() string {
	s := p.Class
	switch p.Class {
	case "":
		s = "other"
	case "fifo", "rr":
		s += ":" + strconv.Itoa(p.Priority)
	case "deadline":
		s += fmt.Sprintf(":%v/%v/%v", p.Runtime, p.Deadline, p.Period)
	}
	if p.Slice > 0 {
		s += "+slice=" + p.Slice.String()
	}
	if p.Clamped && p.UtilMin >= 0 {
		s += "+umin=" + strconv.Itoa(p.UtilMin)
	}
	if p.Clamped && p.UtilMax >= 0 {
		s += "+umax=" + strconv.Itoa(p.UtilMax)
	}
	return s
}

// RealTime tells whether threads of p run before all ordinary ones, so that a
// run of them must be bounded from above: the coordinator needs a higher
// priority (for fifo and rr, Priority + 1; deadline stands above all of them).
func (p Policy) RealTime() bool {
	return p.Class == "fifo" || p.Class == "rr" || p.Class == "deadline"
}

// NiceMin and NiceMax bound nice values.
const (
	NiceMin = -20
	NiceMax = 19
)

// checkNice refuses what setpriority(2) would clamp without a word.
func checkNice(nice int) error {
	if nice < NiceMin || nice > NiceMax {
		return fmt.Errorf("nice %d: must be %d to %d", nice, NiceMin, NiceMax)
	}
	return nil
}

// differs says where what the kernel says is not what was asked for.
func differs(want, have Policy, wantNice, haveNice int) error {
	var not []string
	say := func(name string, want, have any) {
		not = append(not, fmt.Sprintf("%s is %v, not %v", name, have, want))
	}
	if want.Class == "" {
		want.Class = "other"
	}
	if want.Class != have.Class {
		say("policy", want.Class, have.Class)
	}
	if want.Priority != have.Priority {
		say("priority", want.Priority, have.Priority)
	}
	if want.Runtime != have.Runtime || want.Deadline != have.Deadline || want.Period != have.Period {
		say("deadline", fmt.Sprint(want.Runtime, want.Deadline, want.Period), fmt.Sprint(have.Runtime, have.Deadline, have.Period))
	}
	if want.Slice > 0 && want.Slice != have.Slice {
		say("slice", want.Slice, have.Slice)
	}
	if want.Clamped && want.UtilMin >= 0 && want.UtilMin != have.UtilMin {
		say("umin", want.UtilMin, have.UtilMin)
	}
	if want.Clamped && want.UtilMax >= 0 && want.UtilMax != have.UtilMax {
		say("umax", want.UtilMax, have.UtilMax)
	}
	if wantNice != haveNice {
		say("nice", wantNice, haveNice)
	}
	if not == nil {
		return nil
	}
	return fmt.Errorf("policy %s, nice %d did not take: %s", want, wantNice, strings.Join(not, ", "))
}
