package janitor

import "encoding/binary"

// Offsets in FreeBSD's struct kinfo_proc (sys/user.h), the same on amd64 and arm64.
const (
	kiStructsize = 0
	kiPID        = 72
)

// pidsOf reads the process ids from what the variable kern.proc returned:
// records that each begin with their own length.
func pidsOf(raw []byte) (pids []int) {
	for len(raw) >= kiPID+4 {
		size := int(int32(binary.LittleEndian.Uint32(raw[kiStructsize:])))
		if size < kiPID+4 || size > len(raw) {
			return pids
		}
		pids = append(pids, int(int32(binary.LittleEndian.Uint32(raw[kiPID:]))))
		raw = raw[size:]
	}
	return pids
}
