package runner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

const (
	dmaLatency = "/dev/cpu_dma_latency"
	idleDriver = "/sys/devices/system/cpu/cpuidle/current_driver"
)

// IdleHold keeps CPUs out of idle states that take long to wake from, until it
// is closed or the process ends.
type IdleHold struct {
	file *os.File
	US   int64 // what is in force, as the kernel reads it back
}

// HoldIdleLatency bounds the time to wake from idle on all CPUs to us
// microseconds (Documentation/power/pm_qos_interface.rst). The error names
// what is missing.
func HoldIdleLatency(us int) (*IdleHold, error) {
	// Without a driver the kernel halts as it always does (cpuidle_idle_call,
	// kernel/sched/idle.c), whatever is asked for.
	if b, err := os.ReadFile(idleDriver); err == nil && strings.TrimSpace(string(b)) == "none" {
		return nil, fmt.Errorf("no driver of idle states is in use (%s: none), which would heed it: boot with idle=poll instead", idleDriver)
	}
	f, err := os.OpenFile(dmaLatency, os.O_RDWR, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("there is no %s: the kernel needs CONFIG_CPU_IDLE", dmaLatency)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("%s cannot be opened: run as root, or make it writable", dmaLatency)
	case err != nil:
		return nil, err
	}
	h := &IdleHold{file: f}
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], uint32(us))
	if _, err := f.Write(b[:]); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", dmaLatency, err)
	}
	if _, err := f.ReadAt(b[:], 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s cannot be read back: %w", dmaLatency, err)
	}
	// The strictest wish of all programs is in force.
	if h.US = int64(int32(binary.NativeEndian.Uint32(b[:]))); h.US > int64(us) {
		f.Close()
		return nil, fmt.Errorf("%s reads %d µs after %d were asked for", dmaLatency, h.US, us)
	}
	return h, nil
}

// Close lets CPUs sleep again.
func (h *IdleHold) Close() error { return h.file.Close() }

// readIdle sums the CPUs' counters by idle state (Documentation/admin-guide/
// pm/cpuidle.rst). CPUs of different kinds have different states.
func readIdle(cpus []int) (u idleUse) {
	if len(cpus) == 0 {
		u.why = fmt.Sprintf("workers may be on more than %d CPUs: too many to look at; pin them (--placement)", maxIdleCPUs)
		return u
	}
	for n, cpu := range cpus {
		for i := 0; ; i++ {
			dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state%d/", cpu, i)
			name, err := os.ReadFile(dir + "name")
			if err != nil {
				break
			}
			s := record.Idle{State: strings.TrimSpace(string(name)), LatencyUS: number(dir + "latency"), Entries: number(dir + "usage"), TimeNS: 1000 * number(dir+"time")}
			if s.LatencyUS < 0 || s.Entries < 0 || s.TimeNS < 0 {
				u.why = dir + " is not readable"
				return u
			}
			switch {
			case n == 0:
				u.states = append(u.states, s)
			case i >= len(u.states) || u.states[i].State != s.State || u.states[i].LatencyUS != s.LatencyUS:
				u.why = "the workers' CPUs have different idle states"
				return u
			default:
				u.states[i].Entries += s.Entries
				u.states[i].TimeNS += s.TimeNS
			}
		}
	}
	if len(u.states) == 0 {
		u.why = "there is no /sys/devices/system/cpu/cpu*/cpuidle: no driver of idle states is in use"
	}
	return u
}

func number(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
