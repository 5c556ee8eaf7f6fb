package profile

import (
	"bufio"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	f, err := os.Open("testdata/errors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		text, want, ok := strings.Cut(sc.Text(), "\t")
		if strings.HasPrefix(text, "#") || !ok {
			continue
		}
		n++
		_, err := Parse(strings.ReplaceAll(text, `\n`, "\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if n < 20 {
		t.Fatalf("%d cases", n)
	}
}

// What is written is read back as it was, and is named by what it does.
func TestBuiltinProfilesAreWhole(t *testing.T) {
	for _, name := range []string{"select-key", "update-select", "oltp-ro", "oltp-rw", "join", "bulk-insert", "reload"} {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
		q, err := Parse(p.Format())
		if err != nil || !reflect.DeepEqual(p, q) {
			t.Errorf("%s written and read is another: %v\n%s", name, err, p.Format())
		}
		path := filepath.Join(t.TempDir(), "copy.profile")
		if err := os.WriteFile(path, []byte("# another comment\n\n"+q.Format()), 0o644); err != nil {
			t.Fatal(err)
		}
		if q, err = Load(path); err != nil || q.Hash() != p.Hash() {
			t.Errorf("%s with another comment: %v, hash %s for %s", name, err, q.Hash(), p.Hash())
		}
		q.Exchanges[0].Request[0] = Dist{7777}
		if q.Hash() == p.Hash() {
			t.Errorf("%s changed keeps its hash", name)
		}
	}
	if _, err := Load("nonsense"); err == nil || !strings.Contains(err.Error(), "is not known; there are bulk-insert, ") {
		t.Errorf("%v", err)
	}
	if _, err := Load("./nonsense.profile"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("%v", err)
	}
}

// A distribution has the mean of what it stands for, within what equal parts
// of a few values allow.
func TestDistributionsKeepTheMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		values := make([]int64, 1+r.IntN(5000))
		sum := 0.0
		for i := range values {
			values[i] = 100 + r.Int64N(900)
			sum += float64(values[i])
		}
		d := distribution(values, MaxValues)
		if mean := sum / float64(len(values)); math.Abs(d.Mean()/mean-1) > 0.01 {
			t.Errorf("%d values of mean %.1f: distribution of mean %.1f", len(values), mean, d.Mean())
		}
		if _, err := ParseDist(d.String(), 0, 1000); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		p, err := Load(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Format())
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		q, err := Parse(p.Format())
		if err != nil || q.Hash() != p.Hash() {
			t.Errorf("%q is read, written as %q, and then %v", text, p.Format(), err)
		}
	})
}
