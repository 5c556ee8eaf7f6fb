package udsbench_test

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
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

// portable gives the words of the files that both systems build, without tests
// and without what only ever runs on Linux, to test it.
func portable(t *testing.T) map[string][]word {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]word{}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "_linux") || strings.Contains(name, "_freebsd") ||
			strings.HasPrefix(name, "pid1/internal/") || strings.HasPrefix(name, "scripts/") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, not committed yet
		}
		if strings.Contains(string(text), "//go:build linux") {
			continue
		}
		files[name] = words(text)
	}
	return files
}

// word is a token of Go; a string's text is what it means, not how it is quoted.
type word struct {
	kind token.Token
	text string
	line int
}

func words(source []byte) (all []word) {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", -1, len(source)), source, nil, 0)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return all
		}
		if kind == token.STRING {
			text, _ = strconv.Unquote(text)
		}
		all = append(all, word{kind, text, set.Position(pos).Line})
	}
}

// readers are the portable files that read what one system's kernel says of
// itself, from recordings of it as well.
var readers = []string{"topology/sysfs.go", "topology/cpuset.go", "topology/tree.go", "environ/freebsd.go"}

// ofOneSystem is a path that only one of the systems has, or that means another
// thing on each.
var ofOneSystem = regexp.MustCompile(`^/?(proc|sys)(/|$)|/(proc|sys)/|^/(run|var)(/|$)|^/boot/|^/dev/(shm|cpu|mem|kmsg|mqueue)|^/etc/(os-release|machine-id|rc)`)

// Portable files know no path of one system: what differs sits in files that
// say so.
func TestPortableFilesArePortable(t *testing.T) {
	found := map[string]bool{}
	for name, words := range portable(t) {
		for _, w := range words {
			if w.kind != token.STRING || strings.ContainsAny(w.text, " \n") || strings.HasPrefix(w.text, "golang.org/") || !ofOneSystem.MatchString(w.text) {
				continue
			}
			if found[name] = true; !slices.Contains(readers, name) {
				t.Errorf("%s:%d: a path of one system in a portable file: %s", name, w.line, w.text)
			}
		}
	}
	for _, name := range readers {
		if !found[name] {
			t.Errorf("architecture_test.go lists %s as a reader of one system's paths, and it has none", name)
		}
	}
	// What is looked for is found, however it is written.
	for _, source := range []string{`os.Open("/proc/self")`, "x = `/sys/fs`", `filepath.Join("/proc", pid)`, `"/proc/" + pid`, `root + "/sys/kernel"`, `"/dev/shm/x"`} {
		if !slices.ContainsFunc(words([]byte(source)), func(w word) bool { return w.kind == token.STRING && ofOneSystem.MatchString(w.text) }) {
			t.Errorf("a path goes unseen in %s", source)
		}
	}
}

// differing are the errors and names that do not mean the same on both systems,
// with the portable files in which both meanings are seen to. A new use has to
// be thought through for both before it stands here.
var differing = map[string][]string{
	// A full datagram receiver: Linux blocks or says EAGAIN, FreeBSD says ENOBUFS. A
	// socket buffer over the limit: Linux cuts it, FreeBSD says ENOBUFS.
	"ENOBUFS": {"pingpong/raw.go", "pingpong/full.go", "pingpong/cell.go", "pingpong/goroutine.go", "pingpong/effective.go"},
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
	"ETOOMANYREFS": {"pingpong/rights.go"}, // Linux alone limits descriptors in flight
	"EDEADLK":      nil,                    // cpuset_setaffinity on FreeBSD, locks on Linux
	"EOPNOTSUPP":   nil,                    // another number than ENOTSUP on FreeBSD, the same on Linux
	"ENOTSUP":      nil,
	"ENODATA":      nil,                                                          // FreeBSD has none
	"ENOATTR":      nil,                                                          // Linux has none
	"GOOS":         {"pingpong/cell.go", "pingpong/full.go", "environ/build.go"}, // said to the user: what this system has
	"PIPE_BUF":     nil,                                                          // 4096 and 512
}

func TestWhatDiffersIsSeenTo(t *testing.T) {
	used := map[string]map[string]bool{}
	for name, words := range portable(t) {
		for i, w := range words {
			if w.kind != token.PERIOD || i == 0 || i+1 == len(words) || !slices.Contains([]string{"unix", "syscall", "runtime"}, words[i-1].text) {
				continue
			}
			what := words[i+1].text
			if (what == "Errno" || what == "Signal") && i+3 < len(words) && words[i+2].kind == token.LPAREN && words[i+3].kind == token.INT && words[i+3].text != "0" {
				t.Errorf("%s:%d: errors and signals have other numbers on Linux and FreeBSD: give the name", name, w.line)
			}
			allowed, differs := differing[what]
			if !differs {
				continue
			}
			if used[what] == nil {
				used[what] = map[string]bool{}
			}
			used[what][name] = true
			if !slices.Contains(allowed, name) {
				t.Errorf("%s:%d: %s does not mean the same on Linux and FreeBSD: see to both, then list the file in architecture_test.go", name, w.line, what)
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
