package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"udsbench/record"
)

// Catalogue knows the workloads. Both methods must give the same answer to the
// same cell.
type Catalogue interface {
	// Fill gives c with the workload's own defaults where c has none (the empty
	// string, or Unset for the two sizes, since 0 is a size): transport, address,
	// models, policy, sizes, parameters. It leaves what is set, and a cell whose
	// workload it does not know, as it is. A transport that it leaves empty
	// becomes unix-stream, and the cell is filled again.
	Fill(c record.Cell) record.Cell
	// Check says in one sentence why the filled cell c cannot exist, and what
	// could; nil where it can.
	Check(c record.Cell) error
}

// Unset is the Request or Response of a cell that was given none.
const Unset = -1

// Defaults of what no workload has an opinion on.
const (
	defaultTransport = "unix-stream"
	defaultPlacement = "free"
	defaultClock     = "vdso"
	defaultPolicy    = "inherit" // the workers run under what the program was started with
)

// Key gives one text for equal cells and another for different ones.
func Key(c record.Cell) string {
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a cell is strings, numbers and a bool
	}
	return string(text)
}

// Field is one value of a cell, named as its flag.
type Field struct{ Name, Value string }

// Fields gives the values of c by flag, in the order of the product, with its
// parameters by name before parallel.
func Fields(c record.Cell) []Field {
	var fs []Field
	last := len(axes) - 1
	for _, a := range axes[:last] {
		fs = append(fs, Field{a.flag, a.get(&c)})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		fs = append(fs, Field{name, c.Params[name]})
	}
	return append(fs, Field{axes[last].flag, axes[last].get(&c)})
}

// Varying parts the fields of cells into those that are the same in all of
// them and the names of those that differ; a parameter that only some cells
// have differs.
func Varying(cells []record.Cell) (constant []Field, varying []string) {
	values := map[string]map[string]bool{}
	count := map[string]int{}
	var names []string // in the order of Fields
	for _, c := range cells {
		for i, f := range Fields(c) {
			if values[f.Name] == nil {
				values[f.Name] = map[string]bool{}
				names = slices.Insert(names, min(i, len(names)), f.Name)
			}
			values[f.Name][f.Value] = true
			count[f.Name]++
		}
	}
	for _, name := range names {
		if len(values[name]) > 1 || count[name] < len(cells) {
			varying = append(varying, name)
			continue
		}
		for v := range values[name] {
			constant = append(constant, Field{name, v})
		}
	}
	return constant, varying
}

// InOrder compares cells by their fields, numbers as numbers, so that a sweep
// over parallel stands in its order.
func InOrder(a, b record.Cell) int {
	fa, fb := Fields(a), Fields(b)
	for i := range min(len(fa), len(fb)) {
		x, e1 := strconv.ParseFloat(fa[i].Value, 64)
		y, e2 := strconv.ParseFloat(fb[i].Value, 64)
		if e1 == nil && e2 == nil && x != y {
			return cmp.Compare(x, y)
		}
		if c := cmp.Or(cmp.Compare(fa[i].Name, fb[i].Name), cmp.Compare(fa[i].Value, fb[i].Value)); c != 0 {
			return c
		}
	}
	return len(fa) - len(fb)
}
