package environ

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares an environment, less what differs from run to run, with
// testdata/NAME.json.
func golden(t *testing.T, name string, e *Environment) {
	t.Helper()
	c := *e
	c.Gathered = time.Time{}
	c.Udsbench = Udsbench{}
	got, err := json.MarshalIndent(&c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s, line %d: Gather gives\n%s\nbut the file has\n%s", file, i+1, g[i], w[min(i, len(w)-1)])
		}
	}
	t.Fatalf("%s has %d lines more than Gather gives", file, len(w)-len(g))
}
