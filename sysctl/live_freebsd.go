package sysctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The nodes below CTL_SYSCTL (0) that tell of the tree itself: sys/sysctl.h.
const (
	metaName     = 1 // identifier → name
	metaNext     = 2 // identifier → the next leaf's identifier
	metaName2OID = 3 // name → identifier
	metaFormat   = 4 // identifier → kind and format
)

type kernel struct{}

// Live answers for the running kernel: sysctl(3), with types and names from
// the kernel's own description of its tree.
func Live() Reader { return kernel{} }

// Get reads one variable.
func (kernel) Get(name string) (string, error) {
	oid, err := identify(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	text, err := read(oid)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

func read(oid []int32) (string, error) {
	format, err := query(append([]int32{0, metaFormat}, oid...), nil)
	if err != nil {
		return "", err
	}
	if len(format) < 4 {
		return "", errors.New("the kernel does not tell its type")
	}
	kind := binary.NativeEndian.Uint32(format)
	if kind&typeMask == typeNode {
		return "", errors.New("it is a branch, not a value")
	}
	data, err := query(oid, nil)
	if err != nil {
		return "", err
	}
	return decode(kind, data)
}

// Names walks the leaves below prefix.
func (kernel) Names(prefix string) ([]string, error) {
	oid, err := identify(prefix)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", prefix, err)
	}
	var names []string
	for {
		next, err := query(append([]int32{0, metaNext}, oid...), nil)
		if errors.Is(err, ErrNotExist) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", prefix, err)
		}
		oid = identifiers(next)
		raw, err := query(append([]int32{0, metaName}, oid...), nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", prefix, err)
		}
		name := strings.TrimRight(string(raw), "\x00")
		if !strings.HasPrefix(name, prefix+".") {
			return names, nil
		}
		names = append(names, name)
	}
}

func identify(name string) ([]int32, error) {
	raw, err := query([]int32{0, metaName2OID}, []byte(name))
	if err != nil {
		return nil, err
	}
	return identifiers(raw), nil
}

func identifiers(raw []byte) []int32 {
	oid := make([]int32, 0, len(raw)/4)
	for ; len(raw) >= 4; raw = raw[4:] {
		oid = append(oid, int32(binary.NativeEndian.Uint32(raw)))
	}
	return oid
}

// query is __sysctl(2). A value may grow between asking its size and reading
// it, which the kernel tells by ENOMEM.
func query(oid []int32, in []byte) ([]byte, error) {
	var input *byte
	if len(in) > 0 {
		input = &in[0]
	}
	size := uintptr(256)
	for range 16 {
		out := make([]byte, size)
		got := size
		_, _, errno := unix.Syscall6(unix.SYS___SYSCTL,
			uintptr(unsafe.Pointer(&oid[0])), uintptr(len(oid)),
			uintptr(unsafe.Pointer(&out[0])), uintptr(unsafe.Pointer(&got)),
			uintptr(unsafe.Pointer(input)), uintptr(len(in)))
		switch errno {
		case 0:
			return out[:got], nil
		case unix.ENOMEM:
			size *= 4
		case unix.ENOENT:
			return nil, ErrNotExist
		default:
			return nil, errno
		}
	}
	return nil, unix.ENOMEM
}
