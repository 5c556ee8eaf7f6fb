package runner

import (
	"testing"

	"golang.org/x/sys/unix"
)

// move puts another process's first thread on a CPU, as taskset does.
func move(t *testing.T, pid, cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		t.Error(err)
	}
}
