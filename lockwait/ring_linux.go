package lockwait

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the buffer of one CPU's perf events, perf_event_open(2).
type ring struct {
	cpu  int
	fds  []int
	data []byte // the whole mapping; its first page is the kernel's
	page *unix.PerfEventMmapPage
	mask uint64
}

const ringPages = 512

// openRing opens events on a CPU into one buffer. They are off until enabled.
func openRing(cpu int, attrs []unix.PerfEventAttr) (r *ring, err error) {
	r = &ring{cpu: cpu}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for i := range attrs {
		fd, err := unix.PerfEventOpen(&attrs[i], -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return nil, err
		}
		r.fds = append(r.fds, fd)
		if i > 0 {
			if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fds[0]); err != nil {
				return nil, err
			}
			continue
		}
		size := os.Getpagesize()
		r.data, err = unix.Mmap(fd, 0, (1+ringPages)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return nil, fmt.Errorf("a buffer of %d pages: %w (kernel.perf_event_mlock_kb)", ringPages, err)
		}
		r.page = (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.data[0]))
		r.data = r.data[size:]
		r.mask = uint64(len(r.data) - 1)
	}
	return r, nil
}

func (r *ring) set(request uint) error {
	for _, fd := range r.fds {
		if err := unix.IoctlSetInt(fd, request, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *ring) close() {
	if r.page != nil {
		whole := unsafe.Slice((*byte)(unsafe.Pointer(r.page)), len(r.data)+os.Getpagesize())
		unix.Munmap(whole)
		r.page = nil
	}
	for _, fd := range r.fds {
		unix.Close(fd)
	}
	r.fds = nil
}

// drain hands every record that is there to f: its type and its body.
func (r *ring) drain(f func(kind uint32, body []byte)) {
	head := atomic.LoadUint64(&r.page.Data_head)
	tail := r.page.Data_tail
	var scratch []byte
	for tail < head {
		h := r.at(tail, 8, &scratch)
		kind, size := binary.NativeEndian.Uint32(h), uint64(binary.NativeEndian.Uint16(h[6:]))
		if size < 8 || tail+size > head {
			break // not a record: the kernel never writes one
		}
		f(kind, r.at(tail, size, &scratch)[8:])
		tail += size
	}
	atomic.StoreUint64(&r.page.Data_tail, head)
}

// at gives n bytes from a position, in one piece.
func (r *ring) at(pos, n uint64, scratch *[]byte) []byte {
	from := pos & r.mask
	if from+n <= uint64(len(r.data)) {
		return r.data[from : from+n]
	}
	*scratch = append((*scratch)[:0], r.data[from:]...)
	*scratch = append(*scratch, r.data[:n-uint64(len(*scratch))]...)
	return *scratch
}
