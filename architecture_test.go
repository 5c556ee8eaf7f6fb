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

// portable lists the files that both systems build, without tests. Readers of
// recorded trees and outputs are left out, since those are inputs like any
// other, and what only ever runs on Linux, to test it.
func portable(t *testing.T) map[string]string {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	exceptions := []string{"topology/", "environ/", "lockwait/", "kallsyms/", "pid1/internal/", "scripts/"}
	files := map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "_linux") || strings.Contains(name, "_freebsd") ||
			slices.ContainsFunc(exceptions, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, not committed yet
		}
		files[name] = string(text)
	}
	return files
}

// Portable files know no path of one system: what differs sits in files that
// say so.
func TestPortableFilesArePortable(t *testing.T) {
	path := regexp.MustCompile(`"/(proc|sys)/`)
	for name, text := range portable(t) {
		for i, line := range strings.Split(text, "\n") {
			if code, _, _ := strings.Cut(line, "//"); path.MatchString(code) {
				t.Errorf("%s:%d: a path of one system in a portable file: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// differing are the errors and names that do not mean the same on both systems,
// with the portable files in which both meanings are seen to. A new use has to
// be thought through for both before it stands here.
var differing = map[string][]string{
	// A full datagram receiver: Linux blocks or says EAGAIN, FreeBSD says ENOBUFS.
	"ENOBUFS": {"pingpong/raw.go", "pingpong/full.go", "pingpong/cell.go", "pingpong/goroutine.go"},
	// A full AF_UNIX backlog: Linux blocks or says EAGAIN, FreeBSD refuses.
	"ECONNREFUSED": {"pingpong/conn.go", "pingpong/storm.go", "pingpong/process.go"},
	// A datagram socket whose receiver has gone: ECONNREFUSED, then ENOTCONN on
	// Linux; ECONNRESET once, then ENOTCONN or EDESTADDRREQ on FreeBSD.
	"ECONNRESET":   {"pingpong/process.go", "pingpong/epfan.go", "pingpong/storm.go"},
	"ENOTCONN":     {"pingpong/process.go"},
	"EDESTADDRREQ": {"pingpong/process.go"},
	// A listener that was shut down: EINVAL on Linux, ECONNABORTED on FreeBSD, once.
	"ECONNABORTED": {"pingpong/storm.go"},
	// A message that is too long: EMSGSIZE on both, at other sizes.
	"EMSGSIZE":     {"pingpong/cell.go"},
	"ETOOMANYREFS": nil, // Linux alone limits descriptors in flight
	"EDEADLK":      nil, // cpuset_setaffinity on FreeBSD, locks on Linux
	"EOPNOTSUPP":   nil, // another number than ENOTSUP on FreeBSD, the same on Linux
	"ENOTSUP":      nil,
	"ENODATA":      nil,                                      // FreeBSD has none
	"ENOATTR":      nil,                                      // Linux has none
	"GOOS":         {"pingpong/cell.go", "pingpong/full.go"}, // said to the user: what this system has
	"PIPE_BUF":     nil,                                      // 4096 and 512
}

func TestWhatDiffersIsSeenTo(t *testing.T) {
	files := portable(t)
	used := map[string]map[string]bool{}
	word := regexp.MustCompile(`\b(?:unix|syscall|runtime)\.([A-Z_]+)\b`)
	for name, text := range files {
		for i, line := range strings.Split(text, "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, m := range word.FindAllStringSubmatch(code, -1) {
				allowed, differs := differing[m[1]]
				if !differs {
					continue
				}
				if used[m[1]] == nil {
					used[m[1]] = map[string]bool{}
				}
				used[m[1]][name] = true
				if !slices.Contains(allowed, name) {
					t.Errorf("%s:%d: %s does not mean the same on Linux and FreeBSD: see to both, then list the file in architecture_test.go: %s", name, i+1, m[1], strings.TrimSpace(line))
				}
			}
		}
	}
	for what, names := range differing {
		for _, name := range names {
			if !used[what][name] {
				t.Errorf("architecture_test.go lists %s for %s, which does not use it", name, what)
			}
		}
	}
}
