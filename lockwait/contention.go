package lockwait

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"udsbench/record"
)

// event is one contention_begin or contention_end.
type event struct {
	time     uint64 // CLOCK_MONOTONIC, nanoseconds
	cpu      int
	pid, tid uint32
	end      bool
	lock     uint64
	flags    uint32   // of a begin
	chain    []uint64 // of a begin
}

// matcher pairs events to waits and sums them, as the eBPF programs do in the
// kernel: spinning waiters by CPU, sleeping ones by thread.
type matcher struct {
	opened, closed uint64
	who            func(pid, tid uint32) string // who the thread is, as in Lock.Where; "": it does not count
	spinning       map[int][]event
	sleeping       map[uint32]event
	sums           map[string]*sample
	chains         map[string][]uint64
	begins         int64
	orphans        int64
	unfinished     int64   // waits that began before the close and ended after it
	held           []event // read, and not yet due
}

func newMatcher(who func(pid, tid uint32) string) *matcher {
	return &matcher{who: who, spinning: map[int][]event{}, sleeping: map[uint32]event{}, sums: map[string]*sample{}, chains: map[string][]uint64{}}
}

func (m *matcher) open(t uint64) bool {
	return m.opened != 0 && t >= m.opened && (m.closed == 0 || t < m.closed)
}

// take adds what was read. Events of all CPUs before the time due are complete;
// they are put in order and used.
func (m *matcher) take(events []event, due uint64) {
	m.held = append(m.held, events...)
	slices.SortStableFunc(m.held, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	n := 0
	for n < len(m.held) && m.held[n].time < due {
		m.one(m.held[n])
		n++
	}
	m.held = slices.Delete(m.held, 0, n)
}

func (m *matcher) one(e event) {
	who := m.who(e.pid, e.tid)
	if who == "" {
		return
	}
	if e.end {
		stack := m.spinning[e.cpu]
		for i := len(stack) - 1; i >= 0; i-- {
			if stack[i].lock == e.lock && stack[i].tid == e.tid {
				m.account(stack[i], e.time, who)
				m.spinning[e.cpu] = stack[:i]
				return
			}
		}
		if b, ok := m.sleeping[e.tid]; ok && b.lock == e.lock {
			m.account(b, e.time, who)
			delete(m.sleeping, e.tid)
		} else if m.open(e.time) {
			m.orphans++
		}
		return
	}
	if m.open(e.time) && who != record.InKthread {
		m.begins++
	}
	if !sleeping(e.flags) {
		stack := m.spinning[e.cpu]
		if len(stack) >= 4 { // ends that were lost
			stack = stack[:0]
		}
		m.spinning[e.cpu] = append(stack, e)
		return
	}
	if b, ok := m.sleeping[e.tid]; ok && b.lock == e.lock {
		b.flags &= e.flags | ^uint32(flagSpin)
		m.sleeping[e.tid] = b
		return
	}
	m.sleeping[e.tid] = e
}

// pending gives how many waits began before the close and have not ended, at
// the end of all events.
func (m *matcher) pending() (n int64) {
	for _, stack := range m.spinning {
		for _, b := range stack {
			if b.time < m.closed {
				n++
			}
		}
	}
	for _, b := range m.sleeping {
		if b.time < m.closed {
			n++
		}
	}
	return n
}

func (m *matcher) account(b event, end uint64, who string) {
	if !m.open(end) {
		if m.closed != 0 && b.time < m.closed && end >= m.closed {
			m.unfinished++
		}
		return
	}
	wait := int64(end - max(b.time, m.opened))
	key := binary.LittleEndian.AppendUint32(nil, b.flags)
	key = append(key, who...)
	key = append(key, 0)
	for _, a := range b.chain {
		key = binary.LittleEndian.AppendUint64(key, a)
	}
	s := m.sums[string(key)]
	if s == nil {
		s = &sample{flags: b.flags, who: who}
		m.sums[string(key)] = s
		m.chains[string(key)] = b.chain
	}
	one := sums{count: 1, total: wait, min: wait, max: wait}
	one.hist[min(bits.Len64(uint64(wait)), len(one.hist)-1)] = 1
	s.merge(one)
	if !slices.Contains(s.addrs, b.lock) && len(s.addrs) < 4096 {
		s.addrs = append(s.addrs, b.lock)
	}
}
