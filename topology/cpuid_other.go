//go:build !amd64

package topology

// askCPUID has nothing to ask: CPUID is x86's.
func askCPUID([]int) map[int]leaves { return nil }
