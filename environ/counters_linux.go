package environ

import (
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of CPU time in /proc: 100 ticks a second on every
// architecture that Go runs on (include/asm-generic/param.h).
const userHZ = 100

// maxFreqReads bounds what a reading costs on a machine with hundreds of CPUs.
const maxFreqReads = 8

// hostReader knows which files to read; finding them takes longer than
// reading them.
type hostReader struct {
	stat     string
	cpuStats []string // cpu.stat of each cgroup level that counts throttling
	freqs    []string
	steals   bool // steal time that is 0 since boot may be believed
}

var liveHost = sync.OnceValue(func() *hostReader { return newHostReader("/") })

// ReadHost reads the host's counters now: /proc/stat's first line, cpu.stat of
// this process's cgroup and of those it lies in, and scaling_cur_freq of up to
// 8 frequency domains. It takes some 50 µs; the first call also finds the
// files, and takes some milliseconds: call it once before anything is timed.
func ReadHost() HostCounters { return liveHost().read() }

func newHostReader(root string) *hostReader {
	t := tree{e: &Environment{Unavailable: map[string]string{}}, root: root}
	r := &hostReader{stat: t.path("/proc/stat")}
	_, _, dirs := t.cpuCgroup()
	for _, d := range dirs {
		if strings.Contains(t.try(d+"/cpu.stat"), "nr_throttled") {
			r.cpuStats = append(r.cpuStats, t.path(d+"/cpu.stat"))
		}
	}
	freqs := t.glob(sysCPU + "/cpufreq/policy*/scaling_cur_freq")
	for i := 0; i < min(len(freqs), maxFreqReads); i++ {
		r.freqs = append(r.freqs, t.path(freqs[i*len(freqs)/min(len(freqs), maxFreqReads)]))
	}
	flags, x86 := t.cpuFlags()
	r.steals = x86 && !flags["hypervisor"]
	return r
}

func (r *hostReader) read() HostCounters {
	c := HostCounters{At: time.Now()}
	var buf [1024]byte
	if line, err := readSmall(r.stat, buf[:]); err != nil {
		w := Figure{Why: why("/proc/stat", err)}
		c.BusyNS, c.StealNS, c.IrqNS = w, w, w
	} else if t, ok := parseStat(line); !ok {
		w := Figure{Why: "/proc/stat does not begin with the CPUs' times"}
		c.BusyNS, c.StealNS, c.IrqNS = w, w, w
	} else {
		const tick = 1e9 / userHZ
		c.BusyNS.Value, c.IrqNS.Value, c.StealNS.Value = t.busy*tick, t.irq*tick, t.steal*tick
		if t.steal == 0 && !r.steals {
			c.StealNS = Figure{Why: "the hypervisor has reported none since boot, and may not report it at all"}
		}
	}
	c.Throttled = r.throttled(buf[:])
	c.FreqKHz = r.freq(buf[:])
	return c
}

func (r *hostReader) throttled(buf []byte) Figure {
	if len(r.cpuStats) == 0 {
		return Figure{Why: "no cgroup of this process counts throttling: the cpu controller is not in force"}
	}
	var sum int64
	for _, p := range r.cpuStats {
		text, err := readSmall(p, buf)
		if err != nil {
			return Figure{Why: why(p, err)}
		}
		n, ok := parseThrottled(text)
		if !ok {
			return Figure{Why: p + " no longer counts throttling"}
		}
		sum += n
	}
	return Figure{Value: sum}
}

func (r *hostReader) freq(buf []byte) Figure {
	if len(r.freqs) == 0 {
		return Figure{Why: "there is no " + sysCPU + "/cpufreq: this kernel or virtual machine does not show frequency"}
	}
	var sum int64
	for _, p := range r.freqs {
		text, err := readSmall(p, buf)
		if err != nil {
			return Figure{Why: why(p, err)}
		}
		khz, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || khz <= 0 {
			return Figure{Why: p + " is " + strconv.Quote(strings.TrimSpace(text)) + ", not a frequency"}
		}
		sum += khz
	}
	return Figure{Value: sum / int64(len(r.freqs))}
}

// readSmall reads a file's beginning with three system calls. The text is
// good until buf is used again.
func readSmall(path string, buf []byte) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	n, err := unix.Read(fd, buf)
	unix.Close(fd)
	if err != nil {
		return "", err
	}
	return unsafe.String(unsafe.SliceData(buf), n), nil
}

type statTimes struct{ busy, irq, steal int64 }

// parseStat reads the first line of /proc/stat (proc_stat(5)): cpu, then user,
// nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice. The last
// two are part of user and nice. steal came in 2.6.11.
func parseStat(text string) (t statTimes, ok bool) {
	line, _, whole := strings.Cut(text, "\n")
	rest, ok := strings.CutPrefix(line, "cpu ")
	if !ok || !whole {
		return t, false
	}
	var v [8]int64
	n := 0
	for word := range strings.FieldsSeq(rest) {
		if n == len(v) {
			break
		}
		x, err := strconv.ParseInt(word, 10, 64)
		if err != nil || x < 0 || x > 1<<53 {
			return t, false
		}
		v[n] = x
		n++
	}
	t.busy = v[0] + v[1] + v[2] + v[5] + v[6]
	t.irq = v[5] + v[6]
	t.steal = v[7]
	return t, n == len(v)
}

// parseThrottled reads nr_throttled of cpu.stat.
func parseThrottled(text string) (int64, bool) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "nr_throttled ")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}
