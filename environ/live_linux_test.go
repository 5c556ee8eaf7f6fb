package environ

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The live machine, checked against other ways to the same facts.
func TestLive(t *testing.T) {
	e := Gather("/", Option{})
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, got, want string }{
		{"release", e.Kernel.Release, unix.ByteSliceToString(u.Release[:])},
		{"version", e.Kernel.Version, unix.ByteSliceToString(u.Version[:])},
		{"machine", e.Kernel.Machine, unix.ByteSliceToString(u.Machine[:])},
		{"our version", e.Udsbench.Version, Version},
		{"our Go", e.Udsbench.Go, runtime.Version()},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
		}
	}
	id, err := Boot()
	if err != nil || id != e.BootID || len(id) != 36 {
		t.Errorf("Boot() is %q, %v; the environment says %q", id, err, e.BootID)
	}
	if e.Fingerprint() != Gather("/", Option{}).Fingerprint() {
		t.Error("two fingerprints of one kernel differ")
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if l := e.Limits["nofile"]; l.Hard != "unlimited" && files.Max < 1<<40 && l.Hard == "" {
		t.Errorf("nofile is %+v, getrlimit says %d", l, files.Max)
	}
	if len(e.Udsbench.SHA256) != 64 {
		t.Errorf("hash of the binary is %q", e.Udsbench.SHA256)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
	for name, reason := range e.Unavailable {
		t.Logf("%s: %s", name, reason)
	}
	for _, w := range e.Warnings() {
		t.Log("warning: ", w)
	}
}

// Nothing may run another program: with no program to be found and a trap in
// its place, gathering is the same.
func TestRunsNothing(t *testing.T) {
	if os.Getenv("ENVIRON_CHILD") == "1" {
		Gather("/", Option{})
		ReadHost()
		var c unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &c); err != nil {
			t.Fatal(err)
		}
		// A child that ran and was waited for leaves faults behind.
		if c.Minflt != 0 || c.Nvcsw != 0 {
			t.Errorf("some other program ran: %+v", c)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRunsNothing$")
	cmd.Env = append(os.Environ(), "ENVIRON_CHILD=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Busy time grows by what this process burns, to within ticks, and by no more
// than all CPUs together can.
func TestReadHostLive(t *testing.T) {
	a := ReadHost()
	if !a.BusyNS.OK() {
		t.Skip(a.BusyNS.Why)
	}
	own := cpuTime(t)
	for cpuTime(t)-own < 400*time.Millisecond {
		for i := 0; i < 1e6; i++ {
			sink += i
		}
	}
	burnt := cpuTime(t) - own
	b := ReadHost()
	d := a.Delta(b)
	if !d.BusyNS.OK() {
		t.Fatal(d.BusyNS.Why)
	}
	busy := time.Duration(d.BusyNS.Value)
	t.Logf("burnt %v, busy %v in %v; steal %+v, irq %+v, throttled %+v, frequency %+v", burnt, busy, d.Wall, d.StealNS, d.IrqNS, d.Throttled, d.FreqKHz)
	if busy < burnt*8/10 {
		t.Errorf("busy %v, but this process alone burnt %v", busy, burnt)
	}
	if limit := time.Duration(runtime.NumCPU())*d.Wall + 50*time.Millisecond; busy > limit {
		t.Errorf("busy %v, more than %v of all CPUs", busy, limit)
	}
}

var sink int

func cpuTime(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkReadHost(b *testing.B) {
	ReadHost()
	for b.Loop() {
		ReadHost()
	}
}

func BenchmarkGather(b *testing.B) {
	for b.Loop() {
		Gather("/", Option{})
	}
}

// What may not be read says what would let it.
func TestWhyPermission(t *testing.T) {
	want := "/boot/config is not readable: run as root"
	if os.Geteuid() == 0 {
		want = "/boot/config is not readable even by root"
	}
	if got := why("/boot/config", &os.PathError{Op: "open", Path: "x", Err: unix.EACCES}); !strings.HasPrefix(got, want) {
		t.Errorf("reason %q", got)
	}
	if got := why("/a", &os.PathError{Op: "read", Path: "x", Err: unix.EIO}); got != "/a: input/output error" {
		t.Errorf("reason %q", got)
	}
}
