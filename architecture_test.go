package udsbench_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rules reads the table of ARCHITECTURE.md: room, and the rooms that it may
// import ("any" for all).
func rules(t *testing.T) map[string][]string {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Who may import whom")
	name := regexp.MustCompile("`([^`]+)`")
	m := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		room := name.FindStringSubmatch(cells[1])[1]
		may := []string{}
		for _, n := range name.FindAllStringSubmatch(cells[3], -1) {
			may = append(may, n[1])
		}
		if strings.TrimSpace(cells[3]) == "any" {
			may = append(may, "any")
		}
		m[room] = may
	}
	return m
}

func TestImports(t *testing.T) {
	allowed := rules(t)
	if len(allowed) < 10 {
		t.Fatalf("ARCHITECTURE.md has a table of %d rooms", len(allowed))
	}
	seen := map[string]bool{}
	for _, goos := range []string{"linux", "freebsd"} {
		cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", goos, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			room, ok := strings.CutPrefix(f[0], "udsbench/")
			if !ok {
				continue // this test's own package
			}
			seen[room] = true
			may, known := allowed[room]
			if !known {
				t.Errorf("%s is not in the table of ARCHITECTURE.md", room)
				continue
			}
			for _, imported := range f[1:] {
				other, ours := strings.CutPrefix(imported, "udsbench/")
				if ours && !slices.Contains(may, other) && !slices.Contains(may, "any") {
					t.Errorf("%s (%s) imports %s, which ARCHITECTURE.md does not allow", room, goos, other)
				}
			}
		}
	}
	for room := range allowed {
		if !seen[room] {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", room)
		}
	}
}

// Portable files know no path and no errno of one system: what differs sits
// in files that say so.
func TestPortableFilesArePortable(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	// Readers of recorded trees and outputs are the exception, since those are
	// inputs like any other; and what only ever runs on Linux, to test it.
	exceptions := []string{"topology/", "environ/", "lockwait/", "kallsyms/", "pid1/internal/", "scripts/"}
	path := regexp.MustCompile(`"/(proc|sys)/`)
	for _, name := range strings.Fields(string(out)) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "_linux") || strings.Contains(name, "_freebsd") ||
			slices.ContainsFunc(exceptions, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, not committed yet
		}
		for i, line := range strings.Split(string(text), "\n") {
			if code, _, _ := strings.Cut(line, "//"); path.MatchString(code) {
				t.Errorf("%s:%d: a path of one system in a portable file: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
