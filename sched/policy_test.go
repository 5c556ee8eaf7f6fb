package sched

import (
	"os"
	"strings"
	"testing"
)

func policyCases(t testing.TB) [][2]string {
	t.Helper()
	b, err := os.ReadFile("testdata/policies.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		in, out, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("%q has one column", line)
		}
		cases = append(cases, [2]string{in, out})
	}
	return cases
}

func TestParsePolicy(t *testing.T) {
	for _, c := range policyCases(t) {
		p, err := ParsePolicy(c[0])
		if why, refused := strings.CutPrefix(c[1], "!"); refused {
			if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), `"`+c[0]+`"`) {
				t.Errorf("%q: %v, want %q", c[0], err, why)
			}
			continue
		}
		if err != nil || p.String() != c[1] {
			t.Errorf("%q: %s, %v; want %s", c[0], p, err, c[1])
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, c := range policyCases(f) {
		f.Add(c[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		again, err := ParsePolicy(p.String())
		if err != nil || again != p {
			t.Fatalf("%q is %s, which is %+v (%v), not %+v", text, p, again, err, p)
		}
	})
}

func TestNiceOutOfRange(t *testing.T) {
	for _, n := range []int{-21, 20} {
		if err := Apply(Policy{}, n); err == nil {
			t.Errorf("nice %d was taken", n)
		}
	}
}
