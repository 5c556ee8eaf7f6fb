package pingpong

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// maxPath is the longest socket name, without its NUL: sun_path less one.
const maxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// Seat is a worker as a workload's Setup sees it: connected, on its own pinned
// thread, not yet in the timed loop.
type Seat struct {
	*Worker
	Cell  record.Cell
	Role  string
	Index int
	Dir   string // the run's private directory
	Seed  uint64 // of the run

	spec    *WorkerSpec
	process *process
}

// Param is the value of one of the workload's parameters.
func (s *Seat) Param(name string) string { return s.Cell.Params[name] }

// Number is a parameter's value as a number; 0 where it is a word.
func (s *Seat) Number(name string) int { return number(s.Cell, name) }

// Memory gives n zeroed bytes that the timed loop may touch, written to here
// and never moved or collected.
func (s *Seat) Memory(n uintptr) (unsafe.Pointer, error) {
	mem, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("memory of %d bytes: %w", n, err)
	}
	touch(unsafe.Pointer(&mem[0]), n)
	return unsafe.Pointer(&mem[0]), nil
}

// Bytes is Memory as a slice.
func (s *Seat) Bytes(n int) ([]byte, error) {
	p, err := s.Memory(uintptr(n))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// address is where bytes from Seat.Bytes lie, as a system call wants it.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// Sockaddr lays out a socket address as the kernel takes it, and returns where
// it lies and its length.
func (s *Seat) Sockaddr(sa unix.Sockaddr) (at, length uintptr, err error) {
	b, err := s.Bytes(int(unsafe.Sizeof(unix.RawSockaddrAny{})))
	if err != nil {
		return 0, 0, err
	}
	n := 0
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		n = 16
		putFamily(b, n, unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], uint16(a.Port))
		copy(b[4:], a.Addr[:])
	case *unix.SockaddrInet6:
		n = 28
		putFamily(b, n, unix.AF_INET6)
		binary.BigEndian.PutUint16(b[2:], uint16(a.Port))
		copy(b[8:], a.Addr[:])
	case *unix.SockaddrUnix:
		if len(a.Name) > maxPath {
			return 0, 0, fmt.Errorf("socket name of %d bytes; %d are the most: %s", len(a.Name), maxPath, a.Name)
		}
		n = 2 + len(a.Name) + 1
		if a.Name[0] == '@' {
			n-- // an abstract name is as long as its length says
		}
		putFamily(b, n, unix.AF_UNIX)
		copy(b[2:], a.Name)
		if a.Name[0] == '@' {
			b[2] = 0
		}
	}
	return address(b), uintptr(n), nil
}

// Server is the name of the server that this client is to meet.
func (s *Seat) Server() unix.Sockaddr { return s.process.server(s.spec) }

// Together gives all seats of one process what the first of them makes.
func (s *Seat) Together(f func() (any, error)) (any, error) {
	p := s.process
	p.once.Do(func() { p.shared, p.err = f() })
	return p.shared, p.err
}

// AtEnd has f called by an idle thread of the worker's process when all
// clients have left: the way to wake a worker that nothing else would.
func (s *Seat) AtEnd(f func()) { s.process.atEnd(f) }
