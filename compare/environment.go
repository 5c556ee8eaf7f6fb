package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Environment is an environment.json made flat: values by dotted path, as
// "sched.name". Lists are joined by commas.
type Environment map[string]string

// Flatten reads an environment.json.
func Flatten(text json.RawMessage) (Environment, error) {
	var tree map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("not an environment: %w", err)
	}
	e := Environment{}
	for name, v := range tree {
		e.flatten(name, v)
	}
	return e, nil
}

func (e Environment) flatten(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			e.flatten(path+"."+name, inner)
		}
	case []any:
		var parts []string
		for i, inner := range v {
			if _, deep := inner.(map[string]any); deep {
				e.flatten(path+"."+strconv.Itoa(i), inner)
				continue
			}
			parts = append(parts, fmt.Sprint(inner))
		}
		if parts != nil {
			e[path] = strings.Join(parts, ", ")
		}
	case nil:
	default:
		e[path] = fmt.Sprint(v)
	}
}

// factors of the environment by the names that people use. The first path
// that an environment has tells the levels apart; belongs are the paths that
// differ with it and so are no confounders.
var factors = []struct {
	name    string
	paths   []string
	belongs []string
}{
	{"kernel", []string{"kernel_fingerprint", "kernel.release"},
		[]string{"kernel_fingerprint", "kernel.release", "kernel.version", "kernel.build_id", "kernel.ident", "kernel.osreldate", "kernel.config_sha256", "kernel.config_from"}},
	{"scheduler", []string{"sched.ext.ops", "sched.name"},
		[]string{"sched.name", "sched.from", "sched.available", "sched.ext", "sched.knobs"}},
	{"smt", []string{"cpu.smt"}, []string{"cpu.smt", "cpu.smt_control", "cpu.online", "cpu.count"}},
	{"governor", []string{"cpu.governors"}, []string{"cpu.governors", "cpu.energy_preferences"}},
	{"turbo", []string{"cpu.turbo"}, []string{"cpu.turbo"}},
	{"preemption", []string{"sched.preemption.model"}, []string{"sched.preemption"}},
	{"clocksource", []string{"clock.source"}, []string{"clock.source"}},
	{"hypervisor", []string{"virtual.hypervisor"}, []string{"virtual"}},
	{"cmdline", []string{"kernel.cmdline"}, []string{"kernel.cmdline", "kernel.tunables"}},
	{"boot", []string{"boot_id"}, []string{"boot_id"}},
	{"machine", []string{"host.name"}, []string{"host", "cpu", "kernel.machine", "virtual"}},
}

// FactorNames gives the names of the environment's factors, beside which any
// dotted path is one.
func FactorNames() []string {
	var names []string
	for _, f := range factors {
		names = append(names, f.name)
	}
	return names
}

// factor gives the level of a factor in this environment. Kernels are told
// apart by their fingerprints and named by their releases too.
func (e Environment) factor(name string) (string, bool) {
	paths := []string{name}
	for _, f := range factors {
		if f.name == name {
			paths = f.paths
		}
	}
	for _, p := range paths {
		v, ok := e[p]
		if !ok {
			continue
		}
		if r := e["kernel.release"]; p == "kernel_fingerprint" && r != "" {
			v = r + " (" + v + ")"
		}
		return v, true
	}
	return "", false
}

// meant reports whether a path belongs to what is meant to differ.
func meant(path string, names []string) bool {
	for _, name := range names {
		belongs := []string{name}
		for _, f := range factors {
			if f.name == name {
				belongs = f.belongs
			}
		}
		if slices.ContainsFunc(belongs, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") }) {
			return true
		}
	}
	return false
}
