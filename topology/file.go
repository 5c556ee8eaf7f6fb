package topology

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"udsbench/sysctl"
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
	m, err := fromContent(data, path)
	if errors.Is(err, errNotRecorded) {
		return nil, fmt.Errorf("%s is neither a tar.gz of a Linux tree, nor a topology_spec or sysctls of FreeBSD, nor lstopo's XML", path)
	}
	return m, err
}

var errNotRecorded = errors.New("no recorded machine")

func fromContent(data []byte, source string) (*Machine, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		t, err := readArchive(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		return readTree(t, source)
	case bytes.Contains(data, []byte("<topology")):
		return fromLstopo(data, source)
	case bytes.Contains(data, []byte("hw.ncpu:")) || bytes.Contains(data, []byte("kern.smp.cpus:")):
		return fromSysctls(sysctl.Parse(string(data)), nil, source)
	case bytes.Contains(data, []byte("<groups>")):
		return fromSpecText(string(data), source)
	}
	return nil, errNotRecorded
}
