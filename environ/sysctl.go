package environ

import "udsbench/sysctl"

// Sysctl answers for a FreeBSD kernel: its variables as text, and, because a
// structure has no text, as bytes.
type Sysctl interface {
	sysctl.Reader
	// Raw is a variable's value as the kernel lays it out. The machines that
	// FreeBSD is read on here, amd64 and arm64, are 64-bit and little-endian.
	Raw(name string) ([]byte, error)
}
