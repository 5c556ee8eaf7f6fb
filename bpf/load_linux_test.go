package bpf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

// needBPF skips where the kernel or the user's rights do not allow it.
func needBPF(t *testing.T, o Options) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	if err := Available(o); err != nil {
		t.Skip(err)
	}
}

// What is embedded must be what the source says: whoever has the compiler
// checks it byte by byte.
func TestObjectIsOfThisSource(t *testing.T) {
	for _, tool := range []string{"clang-14", "llvm-strip-14"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	if _, err := os.Stat("/usr/include/bpf/bpf_helpers.h"); err != nil {
		t.Skip("libbpf's headers are not installed")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(here), ".bpf-generated-*") // within the module: go tool needs its go.mod
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"doc.go", "kernel/trace.bpf.c"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "generate", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go generate: %v\n%s", err, out)
	}
	for _, name := range []string{"trace_bpfel.o", "trace_bpfel.go"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is not what go generate makes of kernel/trace.bpf.c: run go generate ./bpf", name)
		}
	}
}

// Every combination must pass the verifier, as what is off is pruned by it.
func TestEveryCombinationLoads(t *testing.T) {
	needBPF(t, Options{Locks: true})
	for _, o := range []Options{
		{Locks: true}, {Locks: true, LockStacks: true}, {Locks: true, LockStacks: true, Depth: 8},
		{Futexes: true}, {Sched: true}, {Sched: true, SleepStacks: true},
		{Locks: true, LockStacks: true, Futexes: true, Sched: true, SleepStacks: true, Depth: 127},
	} {
		o.PIDs = []int{os.Getpid()}
		tr, err := Start(o)
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		if err := tr.Open(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Millisecond)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		tr.Detach()
		if _, err := tr.Waits(); err != nil {
			t.Error(err)
		}
		if _, err := tr.Counters(); err != nil {
			t.Error(err)
		}
		_, threads, err := tr.Sleeps()
		if err != nil {
			t.Error(err)
		}
		if o.Sched && len(threads) == 0 {
			t.Errorf("%+v: a process that slept had no thread", o)
		}
		if c, _, ok := tr.Cost(); o.Sched && (!ok || c.Calls == 0 || c.NS == 0) {
			t.Errorf("%+v: cost %+v, known %v", o, c, ok)
		}
		tr.Unload()
	}
}

func TestDepthOutOfRange(t *testing.T) {
	if err := Available(Options{Locks: true, Depth: 128}); err == nil {
		t.Fatal("a depth of 128 was taken")
	}
}

// A kernel without the tracepoints, played by a program for one that none has.
func TestRefusalNamesTheKernel(t *testing.T) {
	needBPF(t, Options{Locks: true})
	spec, err := loadTrace()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range spec.Programs {
		if name != "contention_end" {
			delete(spec.Programs, name)
			continue
		}
		p.AttachTo = "contention_nonsense"
	}
	coll, err := ebpf.NewCollection(spec)
	if err == nil {
		coll.Close()
		t.Fatal("a tracepoint that no kernel has was found")
	}
	if why := refusal(Options{Locks: true}, err).Error(); !strings.Contains(why, "lacks a tracepoint") {
		t.Errorf("%s", why)
	}
}
