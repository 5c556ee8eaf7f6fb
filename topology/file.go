package topology

import (
	"bytes"
	"fmt"
	"os"
)

// fileLimit bounds a recorded file: the largest known has 100 kB.
const fileLimit = 64 << 20

// FromFile reads a recorded machine from a file and finds out by its content
// what it is: a tar.gz of a Linux tree (as Read takes), FreeBSD's
// kern.sched.topology_spec, FreeBSD sysctls as "sysctl -a" prints them, or XML
// that lstopo wrote. A directory is given to Read.
func FromFile(path string) (*Machine, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recorded machine: %w", err)
	}
	if info.IsDir() {
		return Read(path)
	}
	if info.Size() > fileLimit {
		return nil, fmt.Errorf("%s is over %d MB: no recorded machine", path, fileLimit>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("recorded machine: %w", err)
	}
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		t, err := readArchive(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return readTree(t, path)
	}
	return nil, fmt.Errorf("%s is neither a tar.gz of a Linux tree, nor a topology_spec or sysctls of FreeBSD, nor lstopo's XML", path)
}
