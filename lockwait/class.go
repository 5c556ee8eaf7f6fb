package lockwait

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"udsbench/record"
)

//go:embed classes-linux.tsv
var linuxClasses string

//go:embed classes-freebsd.tsv
var freebsdClasses string

// rule gives a class to names that are, or begin with, pattern.
type rule struct {
	pattern string
	prefix  bool
	class   string
}

func (r rule) fits(name string) bool {
	if r.prefix {
		return strings.HasPrefix(name, r.pattern)
	}
	return name == r.pattern
}

var (
	linuxRules   = sync.OnceValue(func() []rule { return mustRules(linuxClasses) })
	freebsdRules = sync.OnceValue(func() []rule { return mustRules(freebsdClasses) })
)

func mustRules(text string) []rule {
	r, err := parseRules(text)
	if err != nil {
		panic(err) // embedded, and read by the tests
	}
	return r
}

func parseRules(text string) ([]rule, error) {
	var rules []rule
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, class, ok := strings.Cut(line, "\t")
		if !ok || !slices.Contains(record.LockClasses, class) || pattern == "" {
			return nil, fmt.Errorf("line %d: %q is not a name, a tab and a class", i+1, line)
		}
		r := rule{class: class}
		r.pattern, r.prefix = strings.CutSuffix(pattern, "*")
		rules = append(rules, r)
	}
	return rules, nil
}

// classOfFunctions gives the class of a lock that was wanted by names[0], which
// was called by names[1], and so on: the innermost name that has a rule decides.
func classOfFunctions(names []string) string {
	for _, n := range names {
		for _, r := range linuxRules() {
			if r.fits(n) {
				return r.class
			}
		}
	}
	return record.ClassOther
}

// classOfLock gives the class of a FreeBSD lock by its name and, where that
// says nothing, by the first of the source files that does: those that take it,
// where it was waited for longest first.
func classOfLock(name string, files ...string) string {
	for _, r := range freebsdRules() {
		if !strings.HasPrefix(r.pattern, "@") && r.fits(name) {
			return r.class
		}
	}
	for _, f := range files {
		for _, r := range freebsdRules() {
			place, isPlace := strings.CutPrefix(r.pattern, "@")
			if isPlace && (strings.HasPrefix(place, "/") && strings.Contains(f, place) ||
				!strings.HasPrefix(place, "/") && strings.HasPrefix(path.Base(f), place)) {
				return r.class
			}
		}
	}
	return record.ClassOther
}
