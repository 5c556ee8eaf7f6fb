package plan

import (
	"maps"
	"slices"
	"strconv"

	"udsbench/record"
)

// The greatest values that the list flags take.
const (
	MaxParallel = 10_000
	MaxMessage  = 1 << 20 // bytes
)

// Lists is what was asked for: a list of values for each list flag, as they
// were written. An empty list means that the flag was not given, and leaves
// the value to the workload.
type Lists struct {
	Workload    []string
	Transport   []string
	Address     []string
	Parallel    []string
	Model       []string
	ServerModel []string
	OneProcess  []string
	Placement   []string
	Policy      []string
	NiceClient  []string
	NiceServer  []string
	Request     []string
	Response    []string
	Clock       []string

	// Param holds what --param gives, by name, and what the flags of ParamFlags
	// give, by the flag's name: these go into the cell's params.
	Param map[string][]string
}

// ParamFlags are list flags of their own whose values a cell keeps in its
// params, since only some workloads have them.
var ParamFlags = []string{"work-clock", "full", "rate"}

// axis is one list flag: where its values are, and where one goes in a cell.
type axis struct {
	flag string
	list func(*Lists) *[]string
	set  func(c *record.Cell, value string) error
	get  func(c *record.Cell) string
}

// axes are in the order in which the product nests, the last one turning
// fastest: a sweep over parallel reads down the table.
var axes = []axis{
	text("workload", func(l *Lists) *[]string { return &l.Workload }, func(c *record.Cell) *string { return &c.Workload }),
	text("transport", func(l *Lists) *[]string { return &l.Transport }, func(c *record.Cell) *string { return &c.Transport }),
	text("address", func(l *Lists) *[]string { return &l.Address }, func(c *record.Cell) *string { return &c.Address }),
	text("model", func(l *Lists) *[]string { return &l.Model }, func(c *record.Cell) *string { return &c.Model }),
	text("server-model", func(l *Lists) *[]string { return &l.ServerModel }, func(c *record.Cell) *string { return &c.ServerModel }),
	{"one-process", func(l *Lists) *[]string { return &l.OneProcess },
		func(c *record.Cell, v string) (err error) { c.OneProcess, err = Bool("one-process", v); return },
		func(c *record.Cell) string {
			if c.OneProcess {
				return "yes"
			}
			return "no"
		}},
	text("placement", func(l *Lists) *[]string { return &l.Placement }, func(c *record.Cell) *string { return &c.Placement }),
	text("policy", func(l *Lists) *[]string { return &l.Policy }, func(c *record.Cell) *string { return &c.Policy }),
	number("nice-client", -20, 19, func(l *Lists) *[]string { return &l.NiceClient }, func(c *record.Cell) *int { return &c.NiceClient }),
	number("nice-server", -20, 19, func(l *Lists) *[]string { return &l.NiceServer }, func(c *record.Cell) *int { return &c.NiceServer }),
	size("request", 1, func(l *Lists) *[]string { return &l.Request }, func(c *record.Cell) *int { return &c.Request }),
	size("response", 0, func(l *Lists) *[]string { return &l.Response }, func(c *record.Cell) *int { return &c.Response }),
	text("clock", func(l *Lists) *[]string { return &l.Clock }, func(c *record.Cell) *string { return &c.Clock }),
	number("parallel", 1, MaxParallel, func(l *Lists) *[]string { return &l.Parallel }, func(c *record.Cell) *int { return &c.Parallel }),
}

func text(flag string, list func(*Lists) *[]string, field func(*record.Cell) *string) axis {
	return axis{flag, list,
		func(c *record.Cell, v string) error { *field(c) = v; return nil },
		func(c *record.Cell) string { return *field(c) }}
}

func number(flag string, least, greatest int, list func(*Lists) *[]string, field func(*record.Cell) *int) axis {
	return axis{flag, list,
		func(c *record.Cell, v string) (err error) { *field(c), err = Int(flag, v, least, greatest); return },
		func(c *record.Cell) string { return strconv.Itoa(*field(c)) }}
}

func size(flag string, least int, list func(*Lists) *[]string, field func(*record.Cell) *int) axis {
	return axis{flag, list,
		func(c *record.Cell, v string) (err error) { *field(c), err = Size(flag, v, least, MaxMessage); return },
		func(c *record.Cell) string { return FormatSize(*field(c)) }}
}

// param is the axis of one parameter.
func param(name string) axis {
	flag := "param " + name
	if slices.Contains(ParamFlags, name) {
		flag = name
	}
	return axis{flag,
		func(l *Lists) *[]string { vs := l.Param[name]; return &vs },
		func(c *record.Cell, v string) error { c.Params[name] = v; return nil },
		func(c *record.Cell) string { return c.Params[name] }}
}

// axes gives the axes of l: all flags, then its parameters by name, but
// parallel last.
func (l *Lists) axes() []axis {
	last := len(axes) - 1
	all := slices.Clone(axes[:last])
	for _, name := range slices.Sorted(maps.Keys(l.Param)) {
		all = append(all, param(name))
	}
	return append(all, axes[last])
}

// ListFlags gives the names of all list flags but param, without dashes.
func ListFlags() []string {
	var names []string
	for _, a := range axes {
		names = append(names, a.flag)
	}
	return append(names, ParamFlags...)
}

// Set gives the list flag named flag (one of ListFlags, or "param") its comma
// separated values. Values are checked here as far as they can be without
// knowing the workload.
func (l *Lists) Set(flag, list string) error {
	if flag == "param" {
		name, values, err := SplitParam(list)
		if err != nil {
			return err
		}
		return l.setParam(name, values)
	}
	values, err := Split(flag, list)
	if err != nil {
		return err
	}
	if slices.Contains(ParamFlags, flag) {
		return l.setParam(flag, values)
	}
	for _, a := range axes {
		if a.flag != flag {
			continue
		}
		for _, v := range values {
			if err := a.set(&record.Cell{}, v); err != nil {
				return err
			}
		}
		*a.list(l) = values
		return nil
	}
	return &UsageError{flag, list, "there is no such list"}
}

func (l *Lists) setParam(name string, values []string) error {
	if l.Param == nil {
		l.Param = map[string][]string{}
	}
	if l.Param[name] != nil {
		return &UsageError{param(name).flag, "", "given twice: put all values into one list"}
	}
	l.Param[name] = values
	return nil
}

// Empty says that no list was given.
func (l *Lists) Empty() bool {
	for _, a := range l.axes() {
		if len(*a.list(l)) > 0 {
			return false
		}
	}
	return true
}

// override gives l with each list that over has in place of its own.
func (l Lists) override(over Lists) Lists {
	for _, a := range axes {
		if vs := *a.list(&over); len(vs) > 0 {
			*a.list(&l) = vs
		}
	}
	l.Param = maps.Clone(l.Param)
	for name, vs := range over.Param {
		if l.Param == nil {
			l.Param = map[string][]string{}
		}
		l.Param[name] = vs
	}
	return l
}
