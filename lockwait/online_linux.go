package lockwait

import (
	"os"
	"strings"

	"udsbench/affinity"
)

// onlineCPUs lists the CPUs that are online: the machine's, where
// runtime.NumCPU counts those that we may run on.
func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return affinity.ParseList(strings.TrimSpace(string(b)))
}

// onlineCount is how many there are; 0 where that is not known.
func onlineCount() int {
	cpus, err := onlineCPUs()
	if err != nil {
		return 0
	}
	return len(cpus)
}
