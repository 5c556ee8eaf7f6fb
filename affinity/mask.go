package affinity

import "math/bits"

// Both kernels lay a mask out as words of the machine's size, lowest
// processors first. On the little-endian machines served here, that is the
// same as bytes, lowest first.

func toMask(cpus []int, size int) []byte {
	for _, c := range cpus {
		if need := c/8 + 1; need > size {
			size = need
		}
	}
	size = (size + 7) &^ 7 // whole words: the kernels refuse others
	mask := make([]byte, size)
	for _, c := range cpus {
		mask[c/8] |= 1 << (c % 8)
	}
	return mask
}

func fromMask(mask []byte) []int {
	var cpus []int
	for i, b := range mask {
		for ; b != 0; b &= b - 1 {
			cpus = append(cpus, i*8+bits.TrailingZeros8(b))
		}
	}
	return cpus
}
