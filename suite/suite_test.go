package suite

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"udsbench/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// text writes what was parsed.
func (s *Suite) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "description: %s\n", s.Description)
	fmt.Fprintf(&b, "settings: %+v\n", s.Settings(plan.DefaultSettings()))
	for _, l := range s.Products {
		fmt.Fprintf(&b, "product: %+v\n", l)
	}
	return b.String()
}

// Each case is a suite with what is read from it, or the error, beside it.
func TestParse(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.suite")
	if len(files) < 8 {
		t.Fatalf("%d cases in testdata", len(files))
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			var got string
			s, err := Load(f)
			if err != nil {
				var usage *plan.UsageError
				if !errors.As(err, &usage) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q is not one line of wrong usage", err)
				}
				got = "error: " + err.Error() + "\n"
			} else {
				got = s.text()
			}
			golden := strings.TrimSuffix(f, ".suite") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s (go test -update writes it anew):\n%s", golden, got)
			}
		})
	}
}

func TestBuiltinSuitesLoad(t *testing.T) {
	names := Names()
	if !slices.Contains(names, Default) {
		t.Fatalf("%v lacks %s", names, Default)
	}
	for _, name := range names {
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Description == "" {
			t.Errorf("%s has no description", name)
		}
		// A copy given by path is the same suite.
		path := filepath.Join(t.TempDir(), "copy.suite")
		if err := os.WriteFile(path, []byte(s.Text), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path)
		if err != nil || c.text() != s.text() {
			t.Errorf("%s copied is %v, %v", name, c, err)
		}
	}
}

func TestQuickIsTheFirstLook(t *testing.T) {
	s, err := Load(Default)
	if err != nil {
		t.Fatal(err)
	}
	set := s.Settings(plan.DefaultSettings())
	if set.Runs != 3 || set.Window != 300*time.Millisecond {
		t.Errorf("%+v", set)
	}
	runs := 0
	for _, l := range s.Products {
		runs += len(l.Workload) * len(l.Transport) * len(l.Parallel) * set.Runs
	}
	// Half of the half minute is for starting processes.
	if d := time.Duration(runs) * (set.Window + set.Warmup); d > 15*time.Second {
		t.Errorf("%d runs take %v without starting", runs, d)
	}
}

func TestLoadRefusesWhatIsNotThere(t *testing.T) {
	for name, words := range map[string]string{
		"nonsense":            "there is no such suite: give ",
		"./nonsense":          "cannot be read: no such file",
		"nonsense.suite":      "cannot be read: no such file",
		"../suites/quick":     "cannot be read",
		"testdata/":           "cannot be read",
		"":                    "there is no such suite",
		"nonsense/../nothing": "cannot be read",
	} {
		_, err := Load(name)
		var usage *plan.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q gives %v, want %q", name, err, words)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.suite")
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("fuzz", text)
		if err != nil {
			var usage *plan.UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("%v is no usage error", err)
			}
			return
		}
		s.Settings(plan.DefaultSettings())
		for _, l := range s.Products {
			if len(l.Workload) == 0 {
				t.Fatalf("a product without a workload of %q", text)
			}
		}
	})
}
