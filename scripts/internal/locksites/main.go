// Command locksites is the measuring part of scripts/lock-sites.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
)

//go:embed cases.tsv
var cases string

var (
	udsbench = flag.String("udsbench", "", "the program")
	parallel = flag.String("parallel", "10", "clients of each")
	window   = flag.String("window", "500ms", "length of a measurement")
	runs     = flag.String("runs", "3", "runs of each")
)

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "lock-sites:", err)
		os.Exit(1)
	}
}

// row is a line of cases.tsv.
type row struct {
	flags  string // of run, the workload first
	twin   string // of run too
	sites  []string
	enough int    // CPUs on which waits are to be seen; 0: none are to be
	why    string // none, or that many
}

// The bounds of what is seen: fewer waits are chance, and a workload that is to
// show none may show that many in a thousand operations.
const (
	few     = 20
	another = 3 // times the twin's
	stray   = 10.0
)

// verdict says how the waits of a workload and of its twin read, and whether
// that is what its comment says.
func (r row) verdict(a, b seen, cpus int) (reading string, right bool) {
	none := a.waits < few || a.per() < stray
	switch {
	case r.enough == 0 && none:
		return "none: " + r.why, true
	case r.enough == 0:
		return "SEEN, AND NONE SHOULD BE: " + r.why, false
	case a.waits < few && cpus < r.enough:
		return fmt.Sprintf("none by %d CPUs: %s", cpus, r.why), true
	case a.waits < few:
		return "NOT SEEN", false
	case b.per()*another > a.per():
		return "IN THE TWIN TOO", false
	}
	return "seen, not in the twin", true
}

// read reads cases.tsv; twins are those of the program's own list.
func read(text string, twins map[string][]string) (rows []row, err error) {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		f := strings.Split(line, "\t")
		wrong := func(what string) error { return fmt.Errorf("cases.tsv, line %d: %s", i+1, what) }
		if len(f) != 5 {
			return nil, wrong("it takes five fields")
		}
		r := row{flags: f[0], sites: strings.Fields(f[2]), why: f[4]}
		name := strings.Fields(f[0])[0]
		n, err := strconv.Atoi(f[1])
		if err != nil || n < 1 || n > len(twins[name]) {
			return nil, wrong(fmt.Sprintf("%s has %d twins, not number %s", name, len(twins[name]), f[1]))
		}
		r.twin = beside(f[0], twins[name][n-1])
		if f[3] != "none" {
			if r.enough, err = strconv.Atoi(f[3]); err != nil || r.enough < 2 {
				return nil, wrong(f[3] + " is neither none nor a number of CPUs from 2")
			}
		}
		if r.why == "" && r.enough != 2 || len(r.sites) == 0 {
			return nil, wrong("it gives no reason, or no function")
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// beside gives the flags of a twin: another workload's own, or those of the row
// with the twin's in their place.
func beside(flags, twin string) string {
	if name, ok := strings.CutPrefix(twin, "--workload "); ok {
		return name
	}
	f := strings.Fields(flags)
	out := f[0]
	replaced := func(flag, value string) bool {
		name, _, _ := strings.Cut(value, "=")
		return strings.Contains(twin, flag+" ") && (flag != "--param" || strings.Contains(twin, flag+" "+name+"="))
	}
	for i := 1; i+1 < len(f); i += 2 {
		if !replaced(f[i], f[i+1]) {
			out += " " + f[i] + " " + f[i+1]
		}
	}
	return out + " " + twin
}

// listed asks the program for the twins of its workloads.
func listed() (map[string][]string, error) {
	text, err := exec.Command(*udsbench, "list", "--json").Output()
	if err != nil {
		return nil, err
	}
	twins := map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var x struct {
			Kind, Name string
			Twins      []struct{ Flags string }
		}
		if err := dec.Decode(&x); err != nil {
			return nil, err
		}
		for _, t := range x.Twins {
			if x.Kind == "workload" {
				twins[x.Name] = append(twins[x.Name], t.Flags)
			}
		}
	}
	return twins, nil
}

func run(only []string) error {
	twins, err := listed()
	if err != nil {
		return fmt.Errorf("udsbench list: %w", err)
	}
	rows, err := read(cases, twins)
	if err != nil {
		return err
	}
	for name := range twins {
		if !slices.ContainsFunc(rows, func(r row) bool { return strings.Fields(r.flags)[0] == name }) {
			return fmt.Errorf("cases.tsv has no line for %s", name)
		}
	}
	dir, err := os.MkdirTemp("", "udsbench-sites")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| workload | its twin | waits at the sites named, per 1000 operations | in the twin | seen most at | reading |")
	fmt.Println("|---|---|---|---|---|---|")
	missing := 0
	for _, r := range rows {
		if len(only) > 0 && !slices.Contains(only, strings.Fields(r.flags)[0]) {
			continue
		}
		a, err := measure(dir, r.flags, r.sites)
		if err != nil {
			return fmt.Errorf("%s: %w", r.flags, err)
		}
		b, err := measure(dir, r.twin, r.sites)
		if err != nil {
			return fmt.Errorf("%s, twin: %w", r.flags, err)
		}
		reading, right := r.verdict(a, b, runtime.NumCPU())
		if !right {
			missing++
		}
		fmt.Printf("| %s | %s | %.2f (%d waits, %.3f ms) | %.2f (%d) | %s | %s |\n", code(r.flags), code(r.twin),
			a.per(), a.waits, float64(a.ns)/1e6, b.per(), b.waits, a.most, reading)
	}
	if missing > 0 {
		return fmt.Errorf("%d of these do not show what the workloads' comments say", missing)
	}
	return nil
}

// code sets the flags of a row apart.
func code(flags string) string { return closeTicks(strings.ReplaceAll(flags, "--", "`--")) }

// closeTicks ends the code spans that a table's flags begin.
func closeTicks(s string) string {
	if !strings.Contains(s, "`") {
		return s
	}
	parts := strings.Split(s, " `")
	for i := range parts[1:] {
		parts[i+1] += "`"
	}
	return strings.Join(parts, " `")
}

// seen is what was waited for at the sites.
type seen struct {
	waits, ns int64
	ops       uint64
	most      string
}

func (s seen) per() float64 { return 1000 * float64(s.waits) / float64(max(s.ops, 1)) }

// measure runs a workload with its flags.
func measure(dir, flags string, sites []string) (s seen, err error) {
	out := filepath.Join(dir, "session")
	defer os.RemoveAll(out)
	args := append([]string{"run", "--json", "--instrument", "locks", "--parallel", *parallel, "--runs", *runs,
		"--window", *window, "--warmup", "100ms", "--out", out}, strings.Fields("--workload "+flags)...)
	c := exec.Command(*udsbench, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return s, errors.Join(err, errors.New(stderr.String()))
	}
	counts := map[string]int64{}
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var r record.Run
		if err := dec.Decode(&r); err != nil {
			return s, err
		}
		if r.Kind != record.Instrumented {
			continue
		}
		if why := r.Unavailable["locks"]; why != "" && r.Locks == nil {
			return s, fmt.Errorf("no lock waits: %s", why)
		}
		s.ops += *r.Ops
		for _, l := range r.Locks {
			if l.Count == nil || !slices.Contains(sites, l.Site) || l.Where != record.InWorkers {
				continue
			}
			s.waits += *l.Count
			counts[l.Site+" ("+l.Kind+")"] += *l.Count
			if l.TotalNS != nil {
				s.ns += *l.TotalNS
			}
		}
	}
	for name, n := range counts {
		if s.most == "" || n > counts[s.most] {
			s.most = name
		}
	}
	if s.most == "" {
		s.most = "-"
	}
	return s, nil
}
