package lockwait

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// wchan looks at state and wait channel of each thread in /proc (proc(5)); of
// one's own processes no privilege is needed.
type wchan struct {
	sampler
	root string
}

func newWchan() *wchan {
	w := &wchan{root: "/proc"}
	w.sampler = sampler{name: "sample", look: w.look, clock: threadCPU, cpus: onlineCount(), blind: []string{
		"how often and how long: a sample is a thread seen asleep, no more",
		"waits that spin: spinlocks, and mutexes before they sleep",
		"whether a thread sleeps for data or for a lock: a stream's reader shows one function for both; D (uninterruptible) is a lock more often than S is",
		"which lock, and who called",
		bouncing,
	}}
	return w
}

func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func (w *wchan) Probe() error {
	b, err := os.ReadFile(filepath.Join(w.root, "self/wchan"))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("sample: no /proc/PID/wchan (CONFIG_KALLSYMS)")
	}
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	_ = b // our own is 0: we are running
	return nil
}

func (w *wchan) look(t Target) ([]*sight, error) {
	var out []*sight
	for _, pid := range t.PIDs {
		for _, tid := range w.threads(t, pid) {
			dir := fmt.Sprintf("%s/%d/task/%d", w.root, pid, tid)
			stat, err := os.ReadFile(dir + "/stat")
			if err != nil {
				continue
			}
			i := strings.LastIndexByte(string(stat), ')')
			if i < 0 || i+2 >= len(stat) {
				continue
			}
			state := stat[i+2]
			if state != 'S' && state != 'D' {
				out = append(out, nil)
				continue
			}
			b, err := os.ReadFile(dir + "/wchan")
			name := string(b)
			if err != nil || name == "0" || name == "" {
				out = append(out, nil) // awake by now
				continue
			}
			kind := "asleep (S)"
			if state == 'D' {
				kind = "asleep (D)"
			}
			s := &sight{name, kind, classOfFunctions([]string{name}), record.InWorkers}
			if strings.HasPrefix(name, "futex") {
				s.class = record.ClassUser
				if t.goroutines(pid) {
					s.where = record.InRuntime // between goroutines
				}
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// threads lists the threads of a process that work: those told, or all.
func (w *wchan) threads(t Target, pid int) (tids []int) {
	if len(t.Threads[pid]) > 0 {
		return t.Threads[pid]
	}
	tasks, err := os.ReadDir(fmt.Sprintf("%s/%d/task", w.root, pid))
	if err != nil {
		return nil // ended meanwhile
	}
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}
