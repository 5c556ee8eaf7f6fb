package environ

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sysctl reads the variables of a FreeBSD kernel by name (sysctl(3)). A
// variable that the kernel lacks gives an error that is fs.ErrNotExist.
type Sysctl interface {
	// Text is the value as sysctl(8) prints it: numbers in decimal, several
	// parted by spaces, strings without their final NUL. A structure gives
	// ErrOpaque.
	Text(name string) (string, error)
	// Raw is the value as the kernel lays it out.
	Raw(name string) ([]byte, error)
	// Names lists the variables below a node, in the kernel's order.
	Names(node string) ([]string, error)
}

// ErrOpaque says that a variable is a structure, which has no text.
var ErrOpaque = errors.New("the value is a structure")

// The types of a variable: the low four bits of its kind (sys/sysctl.h).
const (
	ctlNode   = 1
	ctlInt    = 2
	ctlString = 3
	ctlS64    = 4
	ctlOpaque = 5
	ctlUint   = 6
	ctlLong   = 7
	ctlUlong  = 8
	ctlU64    = 9
	ctlU8     = 10
	ctlU16    = 11
	ctlS8     = 12
	ctlS16    = 13
	ctlS32    = 14
	ctlU32    = 15
)

// ctlSize is the size in bytes of one number of a type, on the 64-bit
// little-endian machines that FreeBSD's amd64 and arm64 are.
var ctlSize = map[uint32]int{
	ctlInt: 4, ctlUint: 4, ctlS32: 4, ctlU32: 4,
	ctlLong: 8, ctlUlong: 8, ctlS64: 8, ctlU64: 8,
	ctlU8: 1, ctlS8: 1, ctlU16: 2, ctlS16: 2,
}

// decodeSysctl turns a value of a kind into text.
func decodeSysctl(kind uint32, raw []byte) (string, error) {
	kind &= 0xf
	if kind == ctlString {
		return string(bytes.TrimRight(raw, "\x00")), nil
	}
	size, ok := ctlSize[kind]
	if !ok {
		return "", ErrOpaque
	}
	if len(raw) == 0 || len(raw)%size != 0 {
		return "", fmt.Errorf("%d bytes are no whole number of %d-byte values", len(raw), size)
	}
	var words []string
	for ; len(raw) > 0; raw = raw[size:] {
		var v uint64
		switch size {
		case 1:
			v = uint64(raw[0])
		case 2:
			v = uint64(binary.LittleEndian.Uint16(raw))
		case 4:
			v = uint64(binary.LittleEndian.Uint32(raw))
		case 8:
			v = binary.LittleEndian.Uint64(raw)
		}
		switch kind {
		case ctlInt, ctlS32, ctlLong, ctlS64, ctlS8, ctlS16:
			shift := 64 - 8*size
			words = append(words, strconv.FormatInt(int64(v<<shift)>>shift, 10))
		default:
			words = append(words, strconv.FormatUint(v, 10))
		}
	}
	return strings.Join(words, " "), nil
}

// sysctlCall is __sysctl(2) by number: it hands in as the new value and
// returns the old one.
type sysctlCall func(mib []int32, in []byte) ([]byte, error)

// The kernel's own variables about variables, below 0 (kern/kern_sysctl.c).
const (
	ctlSysctl       = 0
	ctlSysctlName   = 1 // name of a number
	ctlSysctlNext   = 2 // number of the next variable
	ctlSysctlNumber = 3 // number of a name
	ctlSysctlFormat = 4 // kind, then a format string
)

// A walk is bounded: no node of interest has near so many variables.
const maxSysctlNames = 20000

// Text, Raw and Names make any __sysctl(2) a Sysctl.

func (call sysctlCall) Raw(name string) ([]byte, error) {
	mib, err := call.number(name)
	if err != nil {
		return nil, err
	}
	return call(mib, nil)
}

func (call sysctlCall) Text(name string) (string, error) {
	mib, err := call.number(name)
	if err != nil {
		return "", err
	}
	format, err := call(append([]int32{ctlSysctl, ctlSysctlFormat}, mib...), nil)
	if err != nil {
		return "", err
	}
	if len(format) < 4 {
		return "", fmt.Errorf("its format is %d bytes, not 4 or more", len(format))
	}
	kind := binary.LittleEndian.Uint32(format)
	// Structures are refused before they are read: the list of all sockets is one.
	if t := kind & 0xf; t == ctlNode || t == ctlOpaque || t == 0 {
		return "", ErrOpaque
	}
	raw, err := call(mib, nil)
	if err != nil {
		return "", err
	}
	return decodeSysctl(kind, raw)
}

func (call sysctlCall) Names(node string) ([]string, error) {
	top, err := call.number(node)
	if err != nil {
		return nil, err
	}
	var names []string
	for at := top; len(names) < maxSysctlNames; {
		raw, err := call(append([]int32{ctlSysctl, ctlSysctlNext}, at...), nil)
		if err != nil {
			break // the last variable of all has no next
		}
		next := decodeMIB(raw)
		if len(next) <= len(top) || !hasPrefix(next, top) {
			break
		}
		name, err := call(append([]int32{ctlSysctl, ctlSysctlName}, next...), nil)
		if err != nil {
			return names, err
		}
		names = append(names, string(bytes.TrimRight(name, "\x00")))
		at = next
	}
	return names, nil
}

func (call sysctlCall) number(name string) ([]int32, error) {
	raw, err := call([]int32{ctlSysctl, ctlSysctlNumber}, []byte(name))
	if err != nil {
		return nil, err
	}
	mib := decodeMIB(raw)
	if len(mib) == 0 {
		return nil, fmt.Errorf("the kernel gave no number for %s", name)
	}
	return mib, nil
}

func decodeMIB(raw []byte) []int32 {
	mib := make([]int32, 0, len(raw)/4)
	for ; len(raw) >= 4; raw = raw[4:] {
		mib = append(mib, int32(binary.LittleEndian.Uint32(raw)))
	}
	return mib
}

func hasPrefix(mib, prefix []int32) bool {
	for i := range prefix {
		if mib[i] != prefix[i] {
			return false
		}
	}
	return true
}

// parseKenv reads what kenv(2) dumps: NAME=VALUE strings, each ended by a NUL.
// Firmware tables (smbios, with serial numbers), device hints and passphrases
// are none of a measurement's business and are left out.
func parseKenv(raw []byte) map[string]string {
	env := map[string]string{}
	for _, entry := range bytes.Split(raw, []byte{0}) {
		name, value, ok := strings.Cut(string(entry), "=")
		if !ok || name == "" {
			continue
		}
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "smbios.") || strings.HasPrefix(lower, "hint.") ||
			strings.Contains(lower, "pass") || strings.Contains(lower, "secret") || strings.Contains(lower, "key") {
			continue
		}
		env[name] = value
	}
	return env
}
