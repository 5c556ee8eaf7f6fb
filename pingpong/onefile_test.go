package pingpong

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newWorkload is all that a new workload takes.
const newWorkload = `package pingpong

// A workload that a test makes: a message to oneself.
func init() {
	Register(Workload{
		Name: "made-by-a-test", Isolates: "nothing", Twin: "selfpair", Expect: "nothing", Stop: "leaves after a whole operation",
		Targets: []string{"subsystem"}, Params: []Param{{Name: "colour", Default: "red", Values: []string{"red", "green"}, Help: "of nothing"}},
		Wiring: Self, Operation: Cycle, Transports: []string{"unix-stream"}, Addresses: []string{"socketpair"},
		NoTransport: map[string]string{"unix-seqpacket": "no", "unix-dgram": "no", "tcp": "no", "pipe": "no"},
		Client: writeThenRead,
	})
}
`

// A new workload is one file: with it and nothing else changed the program lists
// it and runs it, the catalogue's own test passes, and the documentation's test
// asks for it until the documentation has been written anew.
func TestNewWorkloadIsOneFile(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program from a copy")
	}
	dir := t.TempDir()
	if err := copyModule("..", dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pingpong", "made.go"), []byte(newWorkload), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) (string, error) {
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
		text, err := c.CombinedOutput()
		return string(text), err
	}
	must := func(want, name string, args ...string) {
		t.Helper()
		text, err := command(name, args...)
		if err != nil || !strings.Contains(text, want) {
			t.Fatalf("%s %v: %v, want %q in\n%s", name, args, err, want, text)
		}
	}
	must("", "go", "build", "-o", "udsbench", "./cmd/udsbench")
	must("made-by-a-test\n", "./udsbench", "list")
	must(`"colour":"green"`, "./udsbench", "run", "--json", "--workload", "made-by-a-test", "--param", "colour=green", "--parallel", "2",
		"--runs", "1", "--window", "50ms", "--warmup", "10ms", "--out", "session")
	must("ok", "go", "test", "-run", "TestEveryWorkloadIsWhole", "./pingpong")
	if text, err := command("go", "test", "-run", "TestDocs", "./pingpong"); err == nil || !strings.Contains(text, "lacks made-by-a-test") {
		t.Fatalf("the documentation's test does not ask for it: %v\n%s", err, text)
	}
	must("ok", "go", "test", "-run", "TestDocs", "./pingpong", "-update")
	must("ok", "go", "test", "-run", "TestDocs", "./pingpong")
}

// copyModule copies what the program is built from.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") && filepath.Dir(rel) != "pingpong" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}
