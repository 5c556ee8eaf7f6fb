package topology

import (
	"udsbench/affinity"
	"udsbench/sysctl"
)

// Live reads the machine that this program runs on from its system variables
// and, on x86, from CPUID on each CPU. What is allowed is the mask of the
// process.
func Live() (*Machine, error) {
	online, err := affinity.Online()
	if err != nil {
		return nil, err
	}
	m, err := fromSysctls(sysctl.Live(), askCPUID(online), "this machine")
	if err != nil {
		return nil, err
	}
	allowed, err := affinity.Process()
	if err != nil {
		m.warn("the mask of this process is not available: %v", err)
		return m, nil
	}
	m.restrict(allowed)
	return m, nil
}
