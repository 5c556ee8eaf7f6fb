package pid1

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// takeOffline unplugs CPUs (Documentation/core-api/cpu_hotplug.rst).
func takeOffline(cpus []int) error {
	for _, cpu := range cpus {
		file := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", cpu)
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return fmt.Errorf("CPU %d does not go offline: %w", cpu, err)
		}
	}
	return nil
}

// confine moves init, and so all that it starts from now on, into a cgroup
// that may use only these CPUs: cpuset.cpus of
// Documentation/admin-guide/cgroup-v2.rst or cgroup-v1/cpusets.rst.
func confine(cpus []int, v1 bool) error {
	root := "/sys/fs/cgroup"
	if v1 {
		root = v1Cpuset
	}
	group := filepath.Join(root, "udsbench")
	writes := []struct{ file, value string }{
		{filepath.Join(group, "cpuset.cpus"), cpuList(cpus)},
		{filepath.Join(group, "cgroup.procs"), strconv.Itoa(os.Getpid())},
	}
	if v1 {
		// A group of version 1 takes no task before it has memory nodes.
		mems, err := os.ReadFile(filepath.Join(root, "cpuset.mems"))
		if err != nil {
			return err
		}
		writes = append(writes[:1], append([]struct{ file, value string }{
			{filepath.Join(group, "cpuset.mems"), strings.TrimSpace(string(mems))}}, writes[1:]...)...)
	} else if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpuset"), 0); err != nil {
		return fmt.Errorf("no cpuset controller in cgroup2: %w", err)
	}
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	for _, w := range writes {
		if err := os.WriteFile(w.file, []byte(w.value), 0); err != nil {
			return fmt.Errorf("%q to %w", w.value, err)
		}
	}
	return nil
}

func cpuList(cpus []int) string {
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = strconv.Itoa(cpu)
	}
	return strings.Join(words, ",")
}
