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
	"slices"
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

func run(only []string) error {
	dir, err := os.MkdirTemp("", "udsbench-sites")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| workload | its twin | waits at the sites named, per 1000 operations | in the twin | seen most at | reading |")
	fmt.Println("|---|---|---|---|---|---|")
	missing := 0
	for _, line := range strings.Split(cases, "\n") {
		f := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(f) < 3 {
			continue
		}
		name := strings.Fields(f[0])[0]
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		sites := strings.Fields(f[2])
		a, err := measure(dir, "--workload "+f[0], sites)
		if err != nil {
			return fmt.Errorf("%s: %w", f[0], err)
		}
		b, err := measure(dir, f[1], sites)
		if err != nil {
			return fmt.Errorf("%s, twin: %w", f[0], err)
		}
		why := ""
		if len(f) > 3 {
			why = f[3]
		}
		reading := "seen, not in the twin"
		switch {
		case a.waits < 20 && why != "":
			reading = "none here: " + why
		case a.waits < 20:
			reading, missing = "NOT SEEN", missing+1
		case b.per()*3 > a.per() && why != "":
			reading = "in the twin too: " + why
		case b.per()*3 > a.per():
			reading, missing = "IN THE TWIN TOO", missing+1
		}
		twin := strings.ReplaceAll(strings.TrimPrefix(f[1], "--workload "), "--", "`--")
		twin = closeTicks(twin)
		fmt.Printf("| %s | %s | %.2f (%d waits, %.3f ms) | %.2f (%d) | %s | %s |\n", closeTicks(strings.ReplaceAll(f[0], "--", "`--")), twin,
			a.per(), a.waits, float64(a.ns)/1e6, b.per(), b.waits, a.most, reading)
	}
	if missing > 0 {
		return fmt.Errorf("%d workloads do not show what their comments say", missing)
	}
	return nil
}

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

func measure(dir, flags string, sites []string) (s seen, err error) {
	out := filepath.Join(dir, "session")
	defer os.RemoveAll(out)
	args := append([]string{"run", "--json", "--instrument", "locks", "--parallel", *parallel, "--runs", *runs,
		"--window", *window, "--warmup", "100ms", "--out", out}, strings.Fields(flags)...)
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
