package affinity

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// onThread runs f on a thread of its own, which ends with it, so that no test
// leaves a pinned thread to the next one. The first thread of a process cannot
// end, and its mask stands for the process's: f never runs there.
func onThread(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread dies
		if threadID() != os.Getpid() {
			f()
			return
		}
		other := make(chan struct{})
		go func() {
			defer close(other)
			runtime.LockOSThread()
			f()
		}()
		<-other
	}()
	<-done
}

func TestPinTakesAndIsReadBack(t *testing.T) {
	before, err := Mask()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range before {
		onThread(t, func() {
			if err := Pin([]int{cpu}); err != nil {
				t.Errorf("CPU %d of %v: %v", cpu, before, err)
				return
			}
			mask, err := Mask()
			if err != nil || !slices.Equal(mask, []int{cpu}) {
				t.Errorf("after pinning to %d the mask is %v (%v)", cpu, mask, err)
			}
			for range 100 {
				if seen, err := CPU(); err != nil || seen != cpu {
					t.Errorf("pinned to %d, seen on %d (%v)", cpu, seen, err)
					return
				}
				runtime.Gosched()
			}
			if err := Pin(before); err != nil {
				t.Errorf("back to %v: %v", before, err)
			}
		})
	}
	if after, err := Mask(); err != nil || !slices.Equal(after, before) {
		t.Errorf("pinning one thread changed another: %v, then %v (%v)", before, after, err)
	}
}

// A processor that is not there must be an error that names it, at any
// number: the kernel alone would drop bits above its mask size in silence.
func TestPinNamesTheCPUThatIsNotThere(t *testing.T) {
	allowed, err := Mask()
	if err != nil {
		t.Fatal(err)
	}
	online, err := Online()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range []int{online[len(online)-1] + 1, 64, 65, 1023, 1024, 5000, MaxCPU} {
		if slices.Contains(online, cpu) {
			continue
		}
		for _, cpus := range [][]int{{cpu}, {allowed[0], cpu}} {
			onThread(t, func() {
				err := Pin(cpus)
				var refusal *Error
				if !errors.As(err, &refusal) || refusal.CPU != cpu {
					t.Errorf("Pin(%v) = %v, want a refusal of CPU %d", cpus, err, cpu)
					return
				}
				if !strings.Contains(err.Error(), "offline or absent") {
					t.Errorf("Pin(%v) = %v, want it to say that CPU %d is offline or absent", cpus, err, cpu)
				}
			})
		}
	}
	for _, cpus := range [][]int{nil, {-1}, {MaxCPU + 1}} {
		if Pin(cpus) == nil {
			t.Errorf("Pin(%v) was taken", cpus)
		}
	}
}

func TestRefusalTellsCpusetFromOffline(t *testing.T) {
	online, err := Online()
	if err != nil {
		t.Fatal(err)
	}
	last := online[len(online)-1]
	got := refused([]int{last}, []int{1000}, nil).Error()
	if !strings.Contains(got, "outside the cpuset") || !strings.Contains(got, "1000") {
		t.Errorf("an online CPU that did not take: %q", got)
	}
	got = refused([]int{last, last + 1}, []int{last}, nil).Error()
	if !strings.Contains(got, "offline or absent") {
		t.Errorf("an absent CPU that did not take: %q", got)
	}
}

func TestMaskOfAnotherThread(t *testing.T) {
	allowed, err := Mask()
	if err != nil {
		t.Fatal(err)
	}
	onThread(t, func() {
		if err := Pin(allowed[:1]); err != nil {
			t.Error(err)
		}
		tid, asked := threadID(), make(chan struct{})
		go func() {
			defer close(asked)
			if got, err := MaskOf(tid); err != nil || !slices.Equal(got, allowed[:1]) {
				t.Errorf("mask of thread %d is %v (%v), want %v", tid, got, err, allowed[:1])
			}
		}()
		<-asked
	})
	if _, err := MaskOf(1 << 30); err == nil {
		t.Error("the mask of a thread that does not exist was read")
	}
}

func TestMasksAreTheKernelsLayout(t *testing.T) {
	mask := toMask([]int{0, 9, 64, 1030}, 128)
	if len(mask) != 136 || mask[0] != 1 || mask[1] != 2 || mask[8] != 1 || mask[128] != 64 {
		t.Errorf("mask of 0,9,64,1030: %d bytes % x", len(mask), mask)
	}
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SliceOfDistinct(rapid.IntRange(0, 5000), rapid.ID[int]).Draw(t, "cpus")
		got := fromMask(toMask(cpus, 8))
		slices.Sort(cpus)
		if !slices.Equal(got, cpus) {
			t.Fatalf("%v came back as %v", cpus, got)
		}
	})
}

func TestParseList(t *testing.T) {
	for text, want := range map[string][]int{
		"":                  nil,
		"0":                 {0},
		"0-3,8":             {0, 1, 2, 3, 8},
		"0-3+8":             {0, 1, 2, 3, 8},
		"8,0-1":             {8, 0, 1},
		"1,1,0-1":           {1, 0},
		"0, 1, 2":           {0, 1, 2},
		"1030-1032\n":       {1030, 1031, 1032},
		"0,2,4,6":           {0, 2, 4, 6},
		" 16-17 , 20 - 21 ": {16, 17, 20, 21},
	} {
		got, err := ParseList(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseList(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "1-", "-1", "3-1", "0-3-5", ",", "0;1", "0-65536", "99999999999", "0x3"} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("ParseList(%q) = %v, want an error", text, got)
		}
	}
}

func TestFormatList(t *testing.T) {
	for want, cpus := range map[string][]int{
		"none": nil, "0": {0}, "0,1": {0, 1}, "0-2": {0, 1, 2}, "0-3,8": {8, 3, 2, 1, 0, 8}, "0,2,4,6": {0, 2, 4, 6},
	} {
		if got := FormatList(cpus); got != want {
			t.Errorf("FormatList(%v) = %q, want %q", cpus, got, want)
		}
	}
	if got := FormatValue([]int{0, 1, 2, 3, 8}); got != "0-3+8" {
		t.Errorf("FormatValue: %q", got)
	}
}

func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"0-3,8", "0-3+8", "0,2,4,6", "0-15,88-103\n", "2-7", "", "0-1023"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := ParseList(text)
		if err != nil {
			return
		}
		if len(cpus) == 0 {
			return
		}
		again, err := ParseList(FormatList(cpus))
		slices.Sort(cpus)
		if err != nil || !slices.Equal(again, cpus) {
			t.Fatalf("%q gave %v, written and read again %v (%v)", text, cpus, again, err)
		}
	})
}

func TestProcessIsNotNarrowedByAPinnedThread(t *testing.T) {
	before, err := Process()
	if err != nil || len(before) == 0 {
		t.Fatalf("mask of the process: %v (%v)", before, err)
	}
	onThread(t, func() {
		if err := Pin(before[:1]); err != nil {
			t.Error(err)
		}
		if after, err := Process(); err != nil || !slices.Equal(after, before) {
			t.Errorf("one thread pinned itself and the process has %v (%v), had %v", after, err, before)
		}
	})
}
