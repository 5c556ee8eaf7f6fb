package runner

import (
	"testing"

	"golang.org/x/sys/unix"
)

// tinyBuffer is next to nothing, with room for a few messages: no buffer is
// rounded up here.
const tinyBuffer = "2048"

// unprivileged has nothing to drop: no privilege exceeds RLIMIT_NOFILE here.
func unprivileged(_ *testing.T, f func()) { f() }

func fileLimit(n int) unix.Rlimit { return unix.Rlimit{Cur: int64(n), Max: int64(n)} }
