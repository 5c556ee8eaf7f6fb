package pingpong

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
	"udsbench/sched"
)

// Param is something that only some workloads have: --param NAME=VALUE, or the
// flag of that name. Either Values or the range from Min to Max says what it
// takes; a word in Values may stand beside a range.
type Param struct {
	Name    string `json:"name"`
	Default string `json:"default"` // part of the cell where nothing else is given; "" leaves it out
	// DefaultOver has the default over transports that have another.
	DefaultOver map[string]string `json:"default_over,omitempty"`
	Values      []string          `json:"values,omitempty"`
	Min, Max    int               `json:"-"` // Max 0: no range
	Help        string            `json:"help"`

	// Check takes the place of Values and the range; may be nil.
	Check func(value string) error `json:"-"`
}

// Takes says what values there are.
func (p Param) Takes() string {
	text := join(p.Values)
	if p.Max != 0 {
		if text != "" {
			text += ", or "
		}
		text += fmt.Sprintf("%d…%d", p.Min, p.Max)
	}
	return text
}

func (p Param) defaultOver(transport string) string {
	if v, ok := p.DefaultOver[transport]; ok {
		return v
	}
	return p.Default
}

// WhereNotGiven says what it is where it is not given; "" where it is left out then.
func (p Param) WhereNotGiven() string {
	text := p.Default
	for _, t := range Transports {
		if v, ok := p.DefaultOver[t]; ok {
			text += fmt.Sprintf(", over %s %s", t, v)
		}
	}
	return text
}

func (p Param) check(value string) error {
	if p.Check != nil {
		return p.Check(value)
	}
	if slices.Contains(p.Values, value) {
		return nil
	}
	if n, err := strconv.Atoi(value); err == nil && strconv.Itoa(n) == value && p.Max != 0 && n >= p.Min && n <= p.Max {
		return nil
	}
	return fmt.Errorf("%s: it takes %s", value, p.Takes())
}

// rateParam makes the load of a workload of round trips an open loop.
var rateParam = Param{Name: "rate", Min: 1, Max: 100_000_000,
	Help: "open loop: so many operations a second in all, on a schedule, with latency from the intended time"}

// Interval is the time in ns from one operation of a client to its next on the
// schedule of an open loop; 0 where the loop is closed.
func Interval(c record.Cell) int64 {
	rate := number(c, rateParam.Name)
	if rate == 0 {
		return 0
	}
	return int64(1e9) * int64(c.Parallel) / int64(rate)
}

// bufferParam sets the socket buffers of workloads that fill them.
var bufferParam = Param{Name: "buffer", Default: "default", Values: []string{"default"}, Min: 1, Max: 1 << 30,
	Help: "bytes of SO_SNDBUF and SO_RCVBUF of every end; the record has what took effect, since the kernel rounds up to its least and cuts at its limits (FreeBSD: an error)"}

func (w *Workload) param(name string) *Param {
	for i := range w.Params {
		if w.Params[i].Name == name {
			return &w.Params[i]
		}
	}
	return nil
}

// fillParams gives the parameters that were not given their defaults over the
// transport.
func (w *Workload) fillParams(given map[string]string, transport string) map[string]string {
	all := map[string]string{}
	for _, p := range w.Params {
		if v := p.defaultOver(transport); v != "" {
			all[p.Name] = v
		}
	}
	for name, value := range given {
		all[name] = value
	}
	return all
}

func (w *Workload) checkParams(c record.Cell) error {
	for name, value := range c.Params {
		if strings.HasPrefix(name, sched.KnobPrefix) {
			continue // the kernel's; whoever switches it checks it
		}
		p := w.param(name)
		if p == nil {
			var has []string
			for _, p := range w.Params {
				has = append(has, p.Name)
			}
			if has == nil {
				return fmt.Errorf("param %s: %s has none", name, w.Name)
			}
			return fmt.Errorf("param %s: %s has none of that name; it has %s", name, w.Name, join(has))
		}
		if err := p.check(value); err != nil {
			return fmt.Errorf("param %s=%w", name, err)
		}
	}
	return nil
}

// number reads a parameter that Check has found to be one; 0 for a word.
func number(c record.Cell, name string) int {
	n, _ := strconv.Atoi(c.Params[name])
	return n
}
