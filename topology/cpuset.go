package topology

import (
	"path"
	"strings"

	"udsbench/affinity"
)

// allowedCPUs returns the CPUs that the process of a tree may use and the
// file that tells: the affinity mask in proc/self/status, which the kernel
// has cut with every cpuset, else the cpuset of the process wherever it is
// mounted. CPUs that are offline may be among them.
func allowedCPUs(t tree) (cpus map[int]bool, from string, found bool) {
	if list, found := statusField(t, "Cpus_allowed_list"); found {
		if set, err := affinity.ParseList(list); err == nil {
			return asSet(set), "proc/self/status", true
		}
	}
	if mask, found := statusField(t, "Cpus_allowed"); found {
		if set, err := parseMask(mask); err == nil {
			return asSet(set), "proc/self/status", true
		}
	}
	for _, file := range cpusetFiles(t) {
		if list, found := text(t, file); found {
			if set, err := affinity.ParseList(list); err == nil && len(set) > 0 {
				return asSet(set), file, true
			}
		}
	}
	return nil, "", false
}

func asSet(cpus []int) map[int]bool {
	set := make(map[int]bool, len(cpus))
	for _, c := range cpus {
		set[c] = true
	}
	return set
}

func statusField(t tree, name string) (string, bool) {
	for line := range strings.Lines(fileOrNone(t, "proc/self/status")) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.Trim(value, " \t\n\x00"), true
		}
	}
	return "", false
}

// cpusetFiles names the files that may hold the CPUs of the process's cpuset:
// the cpuset file system of old, the cpuset controller of cgroup v1, and
// cgroup v2, where a group without the file has that of the nearest above.
func cpusetFiles(t tree) []string {
	v1, v2 := cpusetPaths(t)
	var files []string
	for line := range strings.Lines(fileOrNone(t, "proc/mounts")) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		mount := strings.TrimPrefix(fields[1], "/")
		switch {
		case fields[2] == "cpuset":
			files = append(files, path.Join(mount, v1, "cpus"), path.Join(mount, v1, "cpuset.cpus"))
		case fields[2] == "cgroup" && hasOption(fields[3], "cpuset"):
			files = append(files, path.Join(mount, v1, "cpuset.cpus"), path.Join(mount, v1, "cpus"))
		case fields[2] == "cgroup2":
			for group := path.Join("/", v2); ; group = path.Dir(group) {
				files = append(files, path.Join(mount, group, "cpuset.cpus.effective"))
				if group == "/" {
					break
				}
			}
		}
	}
	return files
}

// cpusetPaths returns the process's group in the cpuset hierarchy and in the
// unified one.
func cpusetPaths(t tree) (v1, v2 string) {
	v1, _ = text(t, "proc/self/cpuset")
	v2 = v1
	for line := range strings.Lines(fileOrNone(t, "proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimRight(line, "\n\x00"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[0] == "0" && fields[1] == "" {
			v2 = fields[2]
		}
		if hasOption(fields[1], "cpuset") {
			v1 = fields[2]
		}
	}
	return v1, v2
}

func hasOption(list, option string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if item == option {
			return true
		}
	}
	return false
}
