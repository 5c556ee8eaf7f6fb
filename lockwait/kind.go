package lockwait

import "fmt"

// Flags of lock:contention_begin, include/trace/events/lock.h, and one of ours
// for waits in futex(2).
const (
	flagSpin   = 1
	flagRead   = 2
	flagWrite  = 4
	flagRT     = 8
	flagPerCPU = 16
	flagMutex  = 32
	flagFutex  = 0x10000
)

// Kind names the kind of lock and of wait that the flags of a contention event
// stand for.
func Kind(flags uint32) string {
	side := ""
	switch {
	case flags&flagRead != 0:
		side = ":read"
	case flags&flagWrite != 0:
		side = ":write"
	}
	switch {
	case flags&flagFutex != 0:
		return "futex"
	case flags&flagMutex != 0 && flags&flagSpin != 0:
		return "mutex:spun"
	case flags&flagMutex != 0:
		return "mutex:slept"
	case flags&flagPerCPU != 0:
		return "percpu-rwsem" + side
	case flags&flagRT != 0:
		return "rt_mutex" + side
	case flags&flagSpin != 0 && side != "":
		return "rwlock" + side
	case flags&flagSpin != 0:
		return "spinlock"
	case side != "":
		return "rwsem" + side
	case flags == 0:
		return "semaphore"
	}
	return fmt.Sprintf("flags %#x", flags)
}

// sleeping tells whether waiters of this kind leave the CPU.
func sleeping(flags uint32) bool { return flags&flagSpin == 0 || flags&flagMutex != 0 }
