package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// Source is one session, or one imported file.
type Source struct {
	Name        string
	Runs        []record.Run
	Cells       []record.Cell // in the order in which they were asked for; nil: that of the runs
	Lost        []record.LostBoot
	Environment Environment // nil where there is none
	Notes       []string
	Locks       []LockWait
}

// SideOf pools sources into one side.
func SideOf(name string, sources []Source) Side {
	s := Side{Name: name}
	for _, src := range sources {
		s.add(src, src.Runs)
	}
	return s
}

func (s *Side) add(src Source, runs []record.Run) {
	s.Runs = append(s.Runs, runs...)
	s.Lost = append(s.Lost, src.Lost...)
	if src.Environment != nil {
		s.Environments = append(s.Environments, src.Environment)
	}
	s.Notes = append(s.Notes, src.Notes...)
	s.Locks = append(s.Locks, src.Locks...)
}

// field gives a cell's value by the name of its flag, dashes or underscores,
// or of its parameter.
func field(c record.Cell, name string) (string, bool) {
	for _, f := range plan.Fields(c) {
		if f.Name == name || strings.ReplaceAll(f.Name, "-", "_") == name {
			return f.Value, true
		}
	}
	return "", false
}

// blank gives c without the named fields; names that are no field are passed over.
func blank(c record.Cell, names []string) record.Cell {
	c.Params = maps.Clone(c.Params)
	for _, name := range names {
		switch strings.ReplaceAll(name, "_", "-") {
		case "workload":
			c.Workload = ""
		case "transport":
			c.Transport = ""
		case "address":
			c.Address = ""
		case "parallel":
			c.Parallel = 0
		case "model":
			c.Model = ""
		case "server-model":
			c.ServerModel = ""
		case "one-process":
			c.OneProcess = false
		case "placement":
			c.Placement = ""
		case "policy":
			c.Policy = ""
		case "nice-client":
			c.NiceClient = 0
		case "nice-server":
			c.NiceServer = 0
		case "request":
			c.Request = 0
		case "response":
			c.Response = 0
		case "clock":
			c.Clock = ""
		}
		delete(c.Params, name)
	}
	return c
}

// Where keeps the runs whose cells have, for every name, one of the values.
func Where(runs []record.Run, want map[string][]string) ([]record.Run, error) {
	kept, err := Only([]Source{{Runs: runs}}, want)
	if err != nil {
		return nil, err
	}
	return kept[0].Runs, nil
}

// follow gives what workloads fill in by another field's value: tcp has no
// path, and a server is of its client's model unless it is told one.
var follow = map[string][]string{
	"transport": {"address"},
	"model":     {"server-model"},
	"workload":  {"address", "server-model", "one-process", "response"},
}

// followers gives the fields that differ with a factor, each having one value
// at each of the factor's: they are no reason not to compare its levels.
func followers(sides []Side, factors []string) (all, notes []string) {
	for _, factor := range factors {
		for _, name := range follow[strings.ReplaceAll(factor, "_", "-")] {
			at, values := map[string]string{}, map[string]bool{}
			var each []string
			one := !slices.Contains(factors, name)
			for _, s := range sides {
				for i := range s.Runs {
					level, _ := field(s.Runs[i].Cell, factor)
					v, _ := field(s.Runs[i].Cell, name)
					was, seen := at[level]
					one = one && (!seen || was == v)
					if !seen {
						each = append(each, v+" with "+level)
					}
					at[level], values[v] = v, true
				}
			}
			if one && len(values) > 1 && !slices.Contains(all, name) {
				all = append(all, name)
				notes = append(notes, fmt.Sprintf("%s differs with %s: %s", name, factor, strings.Join(each, ", ")))
			}
		}
	}
	return all, notes
}

// Only keeps of all sources the runs whose cells have, for every name, one of
// the values. A source of which nothing stays goes, unless boots of it were
// lost.
func Only(sources []Source, want map[string][]string) ([]Source, error) {
	if len(want) == 0 {
		return sources, nil
	}
	seen := map[string]bool{}
	n := 0
	var kept []Source
	for _, src := range sources {
		var runs []record.Run
		for _, r := range src.Runs {
			ok := true
			for name, values := range want {
				v, has := field(r.Cell, name)
				seen[name] = seen[name] || has
				ok = ok && slices.Contains(values, v)
			}
			if ok {
				runs = append(runs, r)
			}
		}
		n += len(runs)
		if src.Runs = runs; len(runs)+len(src.Lost) > 0 {
			kept = append(kept, src)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !seen[name] {
			return nil, fmt.Errorf("--where %s: no cell has that field", name)
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("--where leaves no run")
	}
	return kept, nil
}

// Attach makes factors of the environment parameters of every cell, so that
// where several factors are looked at, each is compared with the others held.
func Attach(sources []Source, names []string) []Source {
	out := slices.Clone(sources)
	for i, src := range out {
		if src.Environment == nil {
			continue
		}
		out[i].Runs = slices.Clone(src.Runs)
		for j := range out[i].Runs {
			c := &out[i].Runs[j].Cell
			for _, name := range names {
				v, ok := src.Environment.factor(name)
				if _, has := field(*c, name); has || !ok {
					continue
				}
				params := map[string]string{name: v}
				maps.Copy(params, c.Params)
				c.Params = params
			}
		}
	}
	return out
}

// PairedFactor gives what the levels of runs that took turns in short slices
// differ in; "" where no run did.
func PairedFactor(sources []Source) string {
	for _, src := range sources {
		for i := range src.Runs {
			if p := src.Runs[i].Paired; p != nil {
				return p.Factor
			}
		}
	}
	return ""
}

// Levels gives the values of a factor that runs have, numbers ascending, off before on, others
// in the order in which they were asked for: those of a field of the cell where
// any run has it, else those of the environment.
func Levels(sources []Source, factor string) []string {
	var levels []string
	for _, src := range sources {
		for _, c := range src.Cells {
			v, ok := field(c, factor)
			if ok && !slices.Contains(levels, v) && slices.ContainsFunc(src.Runs, func(r record.Run) bool { own, _ := field(r.Cell, factor); return own == v }) {
				levels = append(levels, v)
			}
		}
		for i := range src.Runs {
			if v, ok := level(src, &src.Runs[i], factor); ok && !slices.Contains(levels, v) {
				levels = append(levels, v)
			}
		}
		if v, ok := src.lostLevel(factor); ok && !slices.Contains(levels, v) {
			levels = append(levels, v)
		}
	}
	numbers := map[string]int{"off": 0, "on": 1, "no": 0, "yes": 1, "false": 0, "true": 1}
	for _, l := range levels {
		if _, ok := numbers[l]; ok {
			continue
		}
		n, err := strconv.Atoi(l)
		if err != nil {
			n, err = plan.Size(factor, l, 0, math.MaxInt)
		}
		if err != nil {
			return levels
		}
		numbers[l] = n
	}
	slices.SortStableFunc(levels, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	return levels
}

// lostLevel gives the level of a source of which nothing is left but lost boots.
func (src Source) lostLevel(factor string) (string, bool) {
	if len(src.Runs) > 0 || len(src.Lost) == 0 {
		return "", false
	}
	return src.Environment.factor(factor)
}

func level(src Source, r *record.Run, factor string) (string, bool) {
	// A against A differs in nothing that its cell could show.
	if r.Paired != nil && r.Paired.Factor == factor {
		return r.Paired.Level, true
	}
	if v, ok := field(r.Cell, factor); ok {
		return v, true
	}
	if src.Environment == nil {
		return "", false
	}
	return src.Environment.factor(factor)
}

// Split makes one side of each level of a factor. levels gives their order,
// the first being what the others are set against; nil takes that of Levels.
func Split(sources []Source, factor string, levels []string) ([]Side, error) {
	have := Levels(sources, factor)
	if len(have) == 0 {
		return nil, fmt.Errorf("--factor %s: neither the cells nor the environments have that field", factor)
	}
	if levels == nil {
		levels = have
	}
	if len(levels) < 2 {
		return nil, fmt.Errorf("--factor %s: it is %s everywhere: there is nothing to set it against", factor, levels[0])
	}
	var sides []Side
	for _, l := range levels {
		if !slices.Contains(have, l) {
			return nil, fmt.Errorf("--factor %s=%s: there are %s", factor, l, strings.Join(have, ", "))
		}
		s := Side{Name: l}
		for _, src := range sources {
			var runs []record.Run
			for i := range src.Runs {
				if v, ok := level(src, &src.Runs[i], factor); ok && v == l {
					runs = append(runs, src.Runs[i])
				}
			}
			if v, ok := src.lostLevel(factor); len(runs) > 0 || ok && v == l {
				s.add(src, runs)
			}
		}
		sides = append(sides, s)
	}
	return sides, nil
}
