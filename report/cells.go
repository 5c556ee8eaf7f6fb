package report

import (
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// fields gives the values of a cell as the table shows them: the two models
// and one-process make one value.
func fields(c record.Cell) []plan.Field {
	var fs []plan.Field
	for _, f := range plan.Fields(c) {
		switch f.Name {
		case "model":
			if c.ServerModel != c.Model {
				f.Value += "→" + c.ServerModel
			}
			if c.OneProcess {
				f.Value += " in one process"
			}
		case "server-model", "one-process":
			continue
		case "parallel":
			f.Name = "N"
		}
		fs = append(fs, f)
	}
	return fs
}

// identity says what tells the cells apart.
type identity struct {
	columns []string // names of the fields that need a column, N last
	lifted  []string // the others, as one text each
}

// identify lifts what is the same in all cells out of the columns, and what
// follows from the workload or the transport: two values stand in a line above
// the table as clearly as in a column of forty.
func identify(cells []record.Cell) identity {
	values := map[string][]string{} // of each field, one a cell; "" where it has none
	var names []string
	for i, c := range cells {
		for _, f := range fields(c) {
			if values[f.Name] == nil {
				values[f.Name] = make([]string, len(cells))
				names = append(names, f.Name)
			}
			values[f.Name][i] = f.Value
		}
	}
	var id identity
	for _, name := range names {
		if name == "N" {
			continue
		}
		by := ""
		switch {
		case same(values[name]):
			id.lifted = append(id.lifted, name+" "+values[name][0])
			continue
		case name == "workload" || name == "transport":
		case follows(values[name], values["transport"]):
			by = "transport"
		case follows(values[name], values["workload"]):
			by = "workload"
		}
		if by == "" {
			id.columns = append(id.columns, name)
			continue
		}
		id.lifted = append(id.lifted, name+" "+mapping(values[name], values[by]))
	}
	id.columns = append(id.columns, "N")
	return id
}

func same(vs []string) bool {
	for _, v := range vs {
		if v != vs[0] {
			return false
		}
	}
	return true
}

// follows says whether b decides a, with few values of b.
func follows(a, b []string) bool {
	of := map[string]string{}
	for i := range a {
		if have, ok := of[b[i]]; ok && have != a[i] {
			return false
		}
		of[b[i]] = a[i]
	}
	return len(of) <= 3
}

// mapping writes "path (unix-stream), inet (tcp)".
func mapping(a, b []string) string {
	var order []string
	of := map[string][]string{}
	seen := map[string]bool{}
	for i, v := range a {
		if v == "" {
			v = "none"
		}
		if of[v] == nil {
			order = append(order, v)
		}
		if !seen[b[i]] {
			seen[b[i]] = true
			of[v] = append(of[v], b[i])
		}
	}
	var parts []string
	for _, v := range order {
		parts = append(parts, v+" ("+strings.Join(of[v], ", ")+")")
	}
	return strings.Join(parts, ", ")
}

// pick gives the named fields of c; "-" for one that it has not.
func pick(c record.Cell, names []string) []string {
	have := map[string]string{}
	for _, f := range fields(c) {
		have[f.Name] = f.Value
	}
	vs := make([]string, len(names))
	for i, n := range names {
		if vs[i] = have[n]; vs[i] == "" {
			vs[i] = "-"
		}
	}
	return vs
}

// name says in a few words which cell c is among those of id.
func (id identity) name(c record.Cell) string {
	vs := pick(c, id.columns)
	words := vs[:len(vs)-1]
	if len(words) == 0 {
		words = []string{c.Workload}
	}
	return strings.Join(words, " ") + " N=" + vs[len(vs)-1]
}
