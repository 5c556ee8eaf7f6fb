package environ

import (
	"os"
	"path/filepath"
	"strings"
)

func gather(e *Environment, root string, opt Option) {
	build(e)
	if opt.Sysctl != nil {
		gatherRecorded(e, root, opt)
		return
	}
	t := tree{e: e, root: filepath.Clean(root)}
	t.live = t.root == "/"
	log := t.kernelLog()
	t.boot()
	t.kernel()
	t.cpu()
	t.clock()
	t.virtual(log)
	t.sched(log)
	t.cgroup()
	t.limits()
	t.sysctl()
	t.load()
	t.host()
	if t.live {
		e.Host.EUID = ptr(os.Geteuid())
	}
}

const bootIDPath = "/proc/sys/kernel/random/boot_id"

func (t tree) boot() { t.e.BootID = t.text("boot_id", bootIDPath) }

// Boot names the running boot of this machine's kernel, and changes with
// every boot: /proc/sys/kernel/random/boot_id (random(4)).
func Boot() (id string, err error) {
	b, err := os.ReadFile(bootIDPath)
	return strings.TrimSpace(string(b)), err
}
