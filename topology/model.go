package topology

import (
	"fmt"
	"slices"
	"strings"
)

// model is a machine by name.
type model struct {
	name, about, spec string
	distances         [][]int
}

var models = []model{
	{"opteron-4x2", "4 dual-core Opterons in a square of HyperTransport links: one or two hops", "pack:4 numa:1 core:2 pu:1",
		[][]int{{10, 16, 16, 22}, {16, 10, 22, 16}, {16, 22, 10, 16}, {22, 16, 16, 10}}},
	{"opteron-4x16", "4 sixteen-core Opterons (two dies each), as in the lock measurements of 2013", "pack:4 numa:2 l3:1 l2:4 core:2 pu:1",
		[][]int{
			{10, 16, 16, 22, 16, 22, 16, 22}, {16, 10, 22, 16, 22, 16, 22, 16},
			{16, 22, 10, 16, 16, 22, 16, 22}, {22, 16, 16, 10, 22, 16, 22, 16},
			{16, 22, 16, 22, 10, 16, 16, 22}, {22, 16, 22, 16, 16, 10, 22, 16},
			{16, 22, 16, 22, 16, 22, 10, 16}, {22, 16, 22, 16, 22, 16, 16, 10}}},
	{"xeon-htt", "2 single-core Xeons with two threads each, on one bus", "numa:1 pack:2 core:1 pu:2", nil},
	{"xeon-htt-2c", "2 dual-core Xeons with two threads a core, on one bus", "numa:1 pack:2 core:2 pu:2", nil},
	{"epyc-2x64", "2 packages, 8 last-level caches each, 64 cores of two threads", "pack:2 numa:1 l3:8 core:8 pu:2",
		[][]int{{10, 32}, {32, 10}}},
}

// Models lists the named machines: name and what it is.
func Models() [][2]string {
	var list [][2]string
	for _, m := range models {
		list = append(list, [2]string{m.name, m.about})
	}
	return list
}

// Model makes one of the named machines.
func Model(name string) (*Machine, error) {
	i := slices.IndexFunc(models, func(m model) bool { return m.name == name })
	if i < 0 {
		var names []string
		for _, m := range models {
			names = append(names, m.name)
		}
		return nil, fmt.Errorf("machine %q is not known: known are %s, or describe one, as \"pack:4 core:2 pu:1\"", name, strings.Join(names, ", "))
	}
	m, err := FromSpec(models[i].spec)
	if err != nil {
		return nil, err
	}
	m.Source = name
	if models[i].distances != nil {
		m.Distances = models[i].distances
	}
	return m, nil
}

// Describe makes a machine from what a person gave: the name of a model, or a
// description as FromSpec takes it.
func Describe(text string) (*Machine, error) {
	if strings.Contains(text, ":") {
		return FromSpec(text)
	}
	return Model(text)
}
