package pingpong

import (
	"os"
	"runtime"
	"strings"
)

// counterUnusable says why the time stamp counter cannot time operations; ""
// where it can. The kernel's own choice of clock source is the judge: a
// counter that it has found unstable is not offered as one.
func counterUnusable() string {
	if runtime.GOARCH != "amd64" {
		return "" // CNTVCT_EL0 is the architecture's constant system counter
	}
	b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/available_clocksource")
	if err != nil {
		return "the kernel does not say whether the counter is stable"
	}
	for _, name := range strings.Fields(string(b)) {
		if name == "tsc" || name == "kvm-clock" && constantTSC() {
			return ""
		}
	}
	return "the kernel has not accepted the time stamp counter as a clock source"
}

func constantTSC() bool {
	b, _ := os.ReadFile("/proc/cpuinfo")
	return strings.Contains(string(b), " constant_tsc") && strings.Contains(string(b), " nonstop_tsc")
}
