package sysctl

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// The types of a variable, from sys/sysctl.h (CTLTYPE_*). Long is 64 bits on
// the machines served here.
const (
	typeMask = 0xf

	typeNode   = 1
	typeInt    = 2
	typeString = 3
	typeS64    = 4
	typeOpaque = 5
	typeUint   = 6
	typeLong   = 7
	typeUlong  = 8
	typeU64    = 9
	typeU8     = 0xa
	typeU16    = 0xb
	typeS8     = 0xc
	typeS16    = 0xd
	typeS32    = 0xe
	typeU32    = 0xf
)

// integers gives the size of each integer type in bytes and whether it has a sign.
var integers = map[uint32]struct {
	size   int
	signed bool
}{
	typeInt: {4, true}, typeUint: {4, false}, typeLong: {8, true}, typeUlong: {8, false},
	typeS64: {8, true}, typeU64: {8, false}, typeS32: {4, true}, typeU32: {4, false},
	typeS16: {2, true}, typeU16: {2, false}, typeS8: {1, true}, typeU8: {1, false},
}

// decode writes a value of the given kind as text: strings as they are,
// integers in decimal, arrays of them with spaces between.
func decode(kind uint32, data []byte) (string, error) {
	kind &= typeMask
	if kind == typeString {
		return strings.TrimRight(string(data), "\n\x00"), nil
	}
	it, known := integers[kind]
	if !known {
		return "", fmt.Errorf("a value of type %d (%d bytes) has no text", kind, len(data))
	}
	if len(data) == 0 || len(data)%it.size != 0 {
		return "", fmt.Errorf("%d bytes are no integers of %d bytes", len(data), it.size)
	}
	var words []string
	for ; len(data) > 0; data = data[it.size:] {
		var u uint64
		switch it.size {
		case 1:
			u = uint64(data[0])
		case 2:
			u = uint64(binary.NativeEndian.Uint16(data))
		case 4:
			u = uint64(binary.NativeEndian.Uint32(data))
		case 8:
			u = binary.NativeEndian.Uint64(data)
		}
		if !it.signed {
			words = append(words, strconv.FormatUint(u, 10))
			continue
		}
		unused := 64 - 8*it.size
		words = append(words, strconv.FormatInt(int64(u<<unused)>>unused, 10))
	}
	return strings.Join(words, " "), nil
}
