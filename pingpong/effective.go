package pingpong

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// Names of what workers read back after they had asked for it, in the order of
// Slot.Effective.
var effectiveNames = [...]string{"send_buffer", "receive_buffer", "backlog"}

const (
	effectiveSend = iota
	effectiveReceive
	effectiveBacklog
	effectiveKinds
)

// EffectiveValues returns what the worker's parameters came to, by name; bytes of
// buffers are as getsockopt(2) gives them.
func (s *Slot) EffectiveValues() map[string]int64 {
	m := map[string]int64{}
	for i, n := range s.Effective {
		if n != 0 {
			m[effectiveNames[i]] = n
		}
	}
	return m
}

// SetBuffers gives both directions of the worker's ends the buffer that the
// parameter of that name asks for, and reads back what came of it.
func (s *Seat) SetBuffers() error {
	n := s.Number("buffer")
	if n == 0 {
		return nil
	}
	for _, fd := range []uintptr{s.rfd, s.wfd} {
		for _, x := range []struct {
			name      string
			opt, slot int
		}{{"SO_SNDBUF", unix.SO_SNDBUF, effectiveSend}, {"SO_RCVBUF", unix.SO_RCVBUF, effectiveReceive}} {
			err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, x.opt, n)
			if err == unix.ENOBUFS {
				return fmt.Errorf("%s %d: %w: it is over the kernel's limit; lower --param buffer or raise %s", x.name, n, err, sendSysctl)
			}
			if err != nil {
				return fmt.Errorf("%s %d: %w", x.name, n, err)
			}
			got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, x.opt)
			if err != nil {
				return fmt.Errorf("%s cannot be read back: %w", x.name, err)
			}
			if old := s.slot.Effective[x.slot]; old == 0 || int64(got) < old {
				s.slot.Effective[x.slot] = int64(got)
			}
		}
	}
	return nil
}

// Unlike says where the kernel made something else of the cell's parameters than
// was asked for: by what it read back, a line a parameter.
func Unlike(c record.Cell, effective map[string]int64) (lines []string) {
	if asked := int64(number(c, "buffer")); asked != 0 {
		var parts []string
		for _, x := range []struct{ name, what, limit string }{{"send_buffer", "sending", sendSysctl}, {"receive_buffer", "receiving", receiveSysctl}} {
			got, ok := effective[x.name]
			switch got /= bufferFactor; {
			case ok && got < asked:
				parts = append(parts, fmt.Sprintf("%d for %s (the limit, %s)", got, x.what, x.limit))
			case ok && got > asked:
				parts = append(parts, fmt.Sprintf("%d for %s (the kernel's least)", got, x.what))
			}
		}
		if parts != nil {
			lines = append(lines, fmt.Sprintf("buffer %d: it took effect as %s", asked, strings.Join(parts, ", ")))
		}
	}
	if asked, got := int64(number(c, "backlog")), effective["backlog"]; got != 0 && got != asked {
		lines = append(lines, fmt.Sprintf("backlog %d: it took effect as %d (the limit, %s)", asked, got, backlogSysctl))
	}
	return lines
}
