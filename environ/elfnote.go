package environ

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// noteBuildID finds the GNU build id (NT_GNU_BUILD_ID, type 3) in a run of
// ELF notes: 32-bit sizes of name and description, a type, then both padded to
// 4 bytes. Linux shows its own notes in /sys/kernel/notes (kernel/ksysfs.c).
func noteBuildID(b []byte, order binary.ByteOrder) (string, error) {
	for len(b) >= 12 {
		nameLen, descLen, kind := order.Uint32(b), order.Uint32(b[4:]), order.Uint32(b[8:])
		b = b[12:]
		namePad, descPad := pad4(nameLen), pad4(descLen)
		if namePad > uint64(len(b)) || uint64(descLen) > uint64(len(b))-namePad {
			return "", errors.New("the notes are cut short")
		}
		if kind == 3 && string(b[:nameLen]) == "GNU\x00" && descLen > 0 {
			return hex.EncodeToString(b[namePad : namePad+uint64(descLen)]), nil
		}
		b = b[min(namePad+descPad, uint64(len(b))):]
	}
	return "", errors.New("the notes hold no GNU build id")
}

func pad4(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }

// fileBuildID reads the GNU build id of an ELF file, such as FreeBSD's
// /boot/kernel/kernel.
func fileBuildID(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return "", errors.New("it has no section .note.gnu.build-id")
	}
	b, err := s.Data()
	if err != nil {
		return "", err
	}
	return noteBuildID(b, f.ByteOrder)
}
