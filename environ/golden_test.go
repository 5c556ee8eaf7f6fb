package environ

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
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
	if !bytes.Equal(got, want) {
		t.Errorf("%s: Gather gives\n%s\nwant\n%s", name, got, want)
	}
}
