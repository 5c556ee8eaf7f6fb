package suite

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"udsbench/plan"
)

// Default is the suite that run measures when it is told nothing.
const Default = "quick"

//go:embed suites/*.suite
var builtin embed.FS

// Suite is one parsed file.
type Suite struct {
	Name        string // as it was asked for: a name or a path
	Description string // the file's first comment, on one line; may be ""
	Text        string // the whole file
	Products    []plan.Lists

	settings []line
}

// line is one setting of a suite.
type line struct {
	number      int
	flag, value string
}

// Names gives the names of the suites that are built in, sorted.
func Names() []string {
	files, err := fs.Glob(builtin, "suites/*.suite")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "suites/"), ".suite"))
	}
	slices.Sort(names)
	return names
}

// Load reads the suite of that name, or the file of that path where the name
// holds a slash or ends in .suite. Errors are a plan.UsageError, with the line
// where one is to blame.
func Load(nameOrPath string) (*Suite, error) {
	if strings.Contains(nameOrPath, "/") || strings.HasSuffix(nameOrPath, ".suite") {
		text, err := os.ReadFile(nameOrPath)
		if err != nil {
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return nil, &plan.UsageError{Flag: "suite", Value: nameOrPath, Why: "cannot be read: " + err.Error()}
		}
		return Parse(nameOrPath, string(text))
	}
	text, err := fs.ReadFile(builtin, "suites/"+nameOrPath+".suite")
	if err != nil {
		return nil, &plan.UsageError{Flag: "suite", Value: nameOrPath,
			Why: "there is no such suite: give " + strings.Join(Names(), ", ") + ", or the path of a file"}
	}
	return Parse(nameOrPath, string(text))
}

// Parse reads the text of a suite file. name is for the errors.
func Parse(name, text string) (*Suite, error) {
	s := &Suite{Name: name, Text: text}
	wrong := func(n int, why string) error {
		return &plan.UsageError{Flag: "suite", Value: name, Why: fmt.Sprintf("line %d: %s", n, why)}
	}
	var product plan.Lists
	end := func(n int) error {
		if product.Empty() {
			return nil
		}
		if len(product.Workload) == 0 {
			return wrong(n, "the lists above name no workload: give one in each group of lines")
		}
		s.Products = append(s.Products, product)
		product = plan.Lists{}
		return nil
	}
	settings := plan.DefaultSettings() // only to check the values
	seen := map[string]bool{}          // flags of this product, and settings of all
	described := false
	scanner := bufio.NewScanner(strings.NewReader(text))
	n := 0
	for scanner.Scan() {
		n++
		flag, value, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(scanner.Text(), "\t", " ")), " ")
		value = strings.TrimSpace(value)
		if strings.HasPrefix(flag, "#") {
			if !described {
				s.Description = strings.TrimSpace(s.Description + " " + strings.TrimSpace(strings.TrimPrefix(flag, "#")+" "+value))
			}
			continue
		}
		described = described || s.Description != ""
		if flag == "" || flag == "---" {
			if value != "" {
				return nil, wrong(n, "nothing may follow ---")
			}
			if err := end(n); err != nil {
				return nil, err
			}
			for f := range seen {
				if !slices.Contains(plan.SettingFlags, f) {
					delete(seen, f)
				}
			}
			continue
		}
		if seen[flag] && flag != "param" {
			return nil, wrong(n, flag+" stands twice: put all its values into one line")
		}
		seen[flag] = true
		var err error
		switch {
		case slices.Contains(plan.SettingFlags, flag):
			err = settings.Set(flag, value)
			s.settings = append(s.settings, line{n, flag, value})
		case flag == "param" || slices.Contains(plan.ListFlags(), flag):
			err = product.Set(flag, value)
		default:
			return nil, wrong(n, flag+" is not a flag that a suite can set: lists are "+strings.Join(plan.ListFlags(), ", ")+", param; single values "+strings.Join(plan.SettingFlags, ", "))
		}
		if err != nil {
			return nil, wrong(n, strings.TrimPrefix(err.Error(), "--"))
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, wrong(n+1, err.Error())
	}
	if err := end(n); err != nil {
		return nil, err
	}
	if len(s.Products) == 0 {
		return nil, &plan.UsageError{Flag: "suite", Value: name, Why: "has no lists: give at least a workload"}
	}
	return s, nil
}

// Settings gives base with the values that the suite sets in place of its own.
func (s *Suite) Settings(base plan.Settings) plan.Settings {
	for _, l := range s.settings {
		if err := base.Set(l.flag, l.value); err != nil {
			panic(err) // Parse has set it before
		}
	}
	return base
}
