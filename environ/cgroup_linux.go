package environ

import (
	"path"
	"strconv"
	"strings"
)

// cpuCgroup finds the directories of this process's cgroup in the hierarchy
// that has the cpu controller, own group first, then each one that it lies in
// as far as it can be seen. Cgroups are described by the kernel's
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
func (t tree) cpuCgroup() (version, group string, dirs []string) {
	own := parseCgroups(t.try("/proc/self/cgroup"))
	mounts := parseCgroupMounts(t.try("/proc/self/mountinfo"))
	for _, m := range mounts {
		// On a hybrid system v2 is mounted without controllers, and cpu is v1's.
		v1, ok := own["cpu"]
		switch {
		case m.version == "v1" && m.controllers["cpu"] && ok:
			return "v1", v1, t.climb(m, v1)
		case m.version == "v2" && !ok && own[""] != "":
			return "v2", own[""], t.climb(m, own[""])
		}
	}
	return "", "", nil
}

// climb lists the directories from a group up to the mount's top. A mount may
// show a part of the hierarchy only (its root), as in a container, and a group
// outside that part cannot be seen: then the top of what is mounted is all.
func (t tree) climb(m cgroupMount, group string) []string {
	rel, inside := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !inside || strings.Contains(rel, "..") {
		rel = ""
	}
	rel = path.Clean("/" + rel)
	if !t.exists(path.Join(m.point, rel)) {
		rel = "/"
	}
	var dirs []string
	for {
		dirs = append(dirs, path.Join(m.point, rel))
		if rel == "/" {
			return dirs
		}
		rel = path.Dir(rel)
	}
}

// parseCgroups reads /proc/PID/cgroup: "ID:CONTROLLERS:PATH" by controller; v2
// has none and is under "".
func parseCgroups(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(part) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(part[1], ",") {
			m[controller] = part[2]
		}
	}
	return m
}

type cgroupMount struct {
	version     string
	root, point string
	controllers map[string]bool
}

// parseCgroupMounts reads the cgroup lines of /proc/PID/mountinfo (proc(5)):
// "ID PARENT DEV ROOT POINT OPTIONS [TAGS…] - TYPE SOURCE SUPEROPTIONS".
func parseCgroupMounts(text string) []cgroupMount {
	var mounts []cgroupMount
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := cgroupMount{root: unescapeMount(left[3]), point: unescapeMount(left[4]), controllers: map[string]bool{}}
		switch right[0] {
		case "cgroup2":
			m.version = "v2"
		case "cgroup":
			m.version = "v1"
			for option := range strings.SplitSeq(right[2], ",") {
				m.controllers[option] = true
			}
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescapeMount(s string) string { return mountEscapes.Replace(s) }

func (t tree) cgroup() {
	version, group, dirs := t.cpuCgroup()
	if len(dirs) == 0 {
		t.e.absent("cgroup", "no cgroup hierarchy with the cpu controller is mounted")
		return
	}
	c := &Cgroup{Version: version, Path: group}
	for i, dir := range dirs {
		// The top is the mount's own root, whatever its full path.
		level := CgroupLevel{Path: "/"}
		if i < len(dirs)-1 {
			level.Path = strings.TrimPrefix(dir, dirs[len(dirs)-1])
		}
		if version == "v2" {
			level.Weight = t.cgroupNumber(dir + "/cpu.weight")
			level.Quota = t.try(dir + "/cpu.max")
		} else {
			level.Shares = t.cgroupNumber(dir + "/cpu.shares")
			level.Quota = quotaV1(t.try(dir+"/cpu.cfs_quota_us"), t.try(dir+"/cpu.cfs_period_us"))
		}
		if q := level.quotaCPUs(); q != nil && (c.QuotaCPUs == nil || *q < *c.QuotaCPUs) {
			c.QuotaCPUs = q
		}
		c.Levels = append(c.Levels, level)
	}
	if c.QuotaCPUs == nil {
		t.e.absent("cgroup.quota_cpus", "no quota is set")
	}
	if version == "v2" {
		c.CPUs = t.try(dirs[0] + "/cpuset.cpus.effective")
	} else {
		own := parseCgroups(t.try("/proc/self/cgroup"))
		for _, m := range parseCgroupMounts(t.try("/proc/self/mountinfo")) {
			if m.version == "v1" && m.controllers["cpuset"] {
				dir := t.climb(m, own["cpuset"])[0]
				if c.CPUs = t.try(dir + "/cpuset.effective_cpus"); c.CPUs == "" {
					c.CPUs = t.try(dir + "/cpuset.cpus")
				}
			}
		}
	}
	if c.CPUs == "" {
		t.e.absent("cgroup.cpus", "no cpuset controller is in force here")
	}
	t.e.Cgroup = c
}

func (t tree) cgroupNumber(p string) *int64 {
	n, err := strconv.ParseInt(t.try(p), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// quotaV1 writes v1's two files as v2's one: "QUOTA PERIOD".
func quotaV1(quota, period string) string {
	switch {
	case quota == "" || period == "":
		return ""
	case strings.HasPrefix(quota, "-"):
		quota = "max"
	}
	return quota + " " + period
}
