package histogram

import "math/bits"

// SubBits is the binary logarithm of the buckets in one power of two.
const SubBits = 7

// capBits is the binary logarithm of the cap: 2^42 ns, 73 minutes, is longer
// than any run.
const capBits = 42

// Cap is the first value, in nanoseconds, that has no bucket of its own. It
// and all above count in the last bucket.
const Cap = 1 << capBits

// Buckets is how many buckets there are; Index is always below it.
const Buckets = (capBits - SubBits + 1) << SubBits

// Index gives the bucket of v nanoseconds, in [0, Buckets). It never grows the
// stack, never panics and takes no branch but the clamp, so that it can stand
// between entersyscall and exitsyscall.
//
//go:nosplit
//go:norace
func Index(v uint64) uint32 {
	v = min(v, Cap-1)
	// The exponent of the bucket's width; or-ing the first inexact value in
	// makes it 0 for all exact ones. The mask tells the compiler that the
	// shift is in range.
	e := uint64(bits.Len64(v|1<<SubBits)-(SubBits+1)) & 63
	return uint32(e<<SubBits + v>>e)
}

// Low gives the least value of bucket i, in nanoseconds. i must be below Buckets.
func Low(i uint32) uint64 {
	if i < 1<<SubBits {
		return uint64(i)
	}
	e := i>>SubBits - 1
	return uint64(i-e<<SubBits) << e
}

// High gives the greatest value of bucket i, in nanoseconds, the clamped ones
// of the last bucket left aside. i must be below Buckets.
func High(i uint32) uint64 {
	if i < 1<<SubBits {
		return uint64(i)
	}
	return Low(i) + 1<<(i>>SubBits-1) - 1
}

// Mid gives the middle of bucket i, in nanoseconds, rounded down: the value
// that stands for all of its values. i must be below Buckets.
func Mid(i uint32) uint64 {
	return Low(i) + (High(i)-Low(i))/2
}
