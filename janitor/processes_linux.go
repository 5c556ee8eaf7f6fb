package janitor

import (
	"os"
	"path/filepath"
	"strconv"
)

// processesOf lists the processes whose command line names the run's
// directory: its workers and its janitor.
func processesOf(dir string, group int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !names(b, dir) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
