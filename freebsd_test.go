package udsbench_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The functions that only FreeBSD has are written from documents and compiled
// elsewhere. Two tests hold what can be held without such a machine: each of
// them is in the table of docs/freebsd.md, and each is reached by a test that
// compiles there.

// function is a function or method by its directory and name; methods of one
// directory that share a name are one.
type function struct{ dir, name string }

// goFiles parses every Go file of the project that FreeBSD on amd64 builds.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	system := build.Default
	system.GOOS, system.GOARCH, system.CgoEnabled = "freebsd", "amd64", false
	files := map[string]*ast.File{}
	set := token.NewFileSet()
	for _, name := range strings.Fields(string(out)) {
		if built, err := system.MatchFile(filepath.Split(name)); err != nil || !built {
			continue // another system's, or deleted and not committed yet
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	return files
}

// ofFreeBSD lists the functions in files that FreeBSD alone builds, without
// those of tests, as "FILE FUNCTION".
func ofFreeBSD(files map[string]*ast.File) []string {
	var all []string
	for name, f := range files {
		if !strings.Contains(name, "_freebsd") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all = append(all, name+" "+written(fn))
			}
		}
	}
	slices.Sort(all)
	return all
}

// written is a function's name, a method's with its receiver: Seat.take.
func written(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	return typ.(*ast.Ident).Name + "." + fn.Name.Name
}

// documented reads the tables of docs/freebsd.md: under a heading that is a
// file, a row for each function, with what it relies on and where that is
// documented.
func documented(t *testing.T) []string {
	text, err := os.ReadFile("docs/freebsd.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^#+ `([^`]+_freebsd\\.go)`$")
	row := regexp.MustCompile("^\\| `([^`]+)` \\|(.*)\\|(.*)\\|$")
	var all []string
	file := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			file = ""
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			file = m[1]
		}
		m := row.FindStringSubmatch(line)
		if m == nil || file == "" {
			continue
		}
		if strings.TrimSpace(m[2]) == "" || strings.TrimSpace(m[3]) == "" {
			t.Errorf("docs/freebsd.md: %s of %s says not what it relies on and where that is documented", m[1], file)
		}
		all = append(all, file+" "+m[1])
	}
	slices.Sort(all)
	return all
}

func TestFreeBSDFunctionsAreDocumented(t *testing.T) {
	have, want := documented(t), ofFreeBSD(goFiles(t))
	if len(want) < 50 {
		t.Fatalf("only %d functions of FreeBSD found", len(want))
	}
	for _, fn := range want {
		if !slices.Contains(have, fn) {
			t.Errorf("%s is not in the tables of docs/freebsd.md", fn)
		}
	}
	for _, fn := range have {
		if !slices.Contains(want, fn) {
			t.Errorf("docs/freebsd.md has %s, which is not there", fn)
		}
	}
}

// bootOnly are functions that only an init may call; booting a FreeBSD kernel
// tries them.
var bootOnly = []string{
	"pid1/init_freebsd.go machine.prepare",
	"pid1/init_freebsd.go openConsole",
	"pid1/init_freebsd.go powerOff",
	"pid1/mount_freebsd.go mountTmp",
	"pid1/mount_freebsd.go writableRoot",
}

// Reached means: named, however deep, by what a test names. Names are followed
// through the files that FreeBSD builds, within a package, to the package that
// a selector names, and, for a method, to every function of that name.
func TestFreeBSDFunctionsAreReachedByTests(t *testing.T) {
	files := goFiles(t)
	bodies := map[function][]reference{}
	byName := map[string][]function{}
	var todo []reference
	for name, f := range files {
		dir := filepath.Dir(name)
		for _, d := range f.Decls {
			refs := references(f, dir, d)
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
				todo = append(todo, refs...) // of variables: they are set in every test binary
				continue
			case fn.Name.Name == "init", strings.HasSuffix(name, "_test.go") && regexp.MustCompile("^(Test|Fuzz|Benchmark)").MatchString(fn.Name.Name):
				todo = append(todo, refs...)
				continue
			}
			at := function{dir, fn.Name.Name}
			if bodies[at] == nil {
				byName[at.name] = append(byName[at.name], at)
			}
			bodies[at] = append(bodies[at], refs...)
		}
	}
	reached := map[function]bool{}
	for len(todo) > 0 {
		ref := todo[0]
		todo = todo[1:]
		next := []function{{ref.dir, ref.name}}
		if ref.dir == "" {
			next = byName[ref.name]
		}
		for _, fn := range next {
			if !reached[fn] {
				reached[fn] = true
				todo = append(todo, bodies[fn]...)
			}
		}
	}
	for _, entry := range ofFreeBSD(files) {
		file, name, _ := strings.Cut(entry, " ")
		name = name[strings.LastIndex(name, ".")+1:]
		only := slices.Contains(bootOnly, entry)
		if got := reached[function{filepath.Dir(file), name}]; !got && !only {
			t.Errorf("%s is reached by no test that FreeBSD builds", entry)
		}
	}
	for _, entry := range bootOnly {
		if !slices.Contains(ofFreeBSD(files), entry) {
			t.Errorf("bootOnly has %s, which is not there", entry)
		}
	}
}

// reference is a name as code uses it; dir is "" where it may be anyone's
// method.
type reference struct{ dir, name string }

// references collects the names in a declaration.
func references(f *ast.File, dir string, decl ast.Decl) []reference {
	imports := map[string]string{} // name in this file → directory, "" outside of the project
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = strings.TrimPrefix(path, "udsbench/")
		if !strings.HasPrefix(path, "udsbench/") {
			imports[name] = ""
		}
	}
	seen := map[reference]bool{}
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, plain := n.X.(*ast.Ident)
			to, imported := "", false
			if plain {
				to, imported = imports[x.Name]
			}
			switch {
			case !imported:
				seen[reference{"", n.Sel.Name}] = true
				ast.Inspect(n.X, look)
			case to != "":
				seen[reference{to, n.Sel.Name}] = true
			}
			return false
		case *ast.Ident:
			seen[reference{dir, n.Name}] = true
		}
		return true
	}
	ast.Inspect(decl, look)
	return slices.Collect(maps.Keys(seen))
}
