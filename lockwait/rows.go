package lockwait

import (
	"cmp"
	"slices"

	"udsbench/kallsyms"
	"udsbench/record"
)

// Bounds of what a record keeps of stacks.
const (
	stackRows    = 32 // rows with stacks, the greatest by wait
	stacksOfARow = 8
)

// sample is all waits of one kind that came one way.
type sample struct {
	flags     uint32
	who       string           // as in Lock.Where, before the stack tells more; "": a worker
	frames    []kallsyms.Frame // innermost first
	stackLost bool             // there was a stack, and it was lost
	call      string           // the system call, where no stack was taken
	addrs     []uint64
	sums
}

// sums of waits, in nanoseconds. Bucket i of hist counts those of i
// significant bits.
type sums struct {
	count, total, min, max int64
	hist                   [32]uint64
}

func (s *sums) merge(o sums) {
	if o.count == 0 {
		return
	}
	if s.count == 0 || o.min < s.min {
		s.min = o.min
	}
	s.max = max(s.max, o.max)
	s.count += o.count
	s.total += o.total
	for i, n := range o.hist {
		s.hist[i] += n
	}
}

// The sites of rows that have no function.
const (
	siteLost    = "(stack lost)"
	siteUnknown = "(no function)"
	siteNoStack = "(no stack)"
)

// rowsOf sums the samples by site, caller, kind and context. own is how many
// waits were the tracer's and are left out.
func rowsOf(source string, samples []sample, atLeast bool) (rows []Row, own int64) {
	type key struct{ site, caller, kind, class, where string }
	type row struct {
		sums
		addrs  map[uint64]bool
		stacks []record.LockStack
	}
	byKey := map[key]*row{}
	for _, s := range samples {
		at := kallsyms.Site(s.frames, sleeping(s.flags))
		above := s.frames[min(at+1, len(s.frames)):]
		if ownWait(above) {
			own += s.count
			continue
		}
		context, within := where(s.who, above)
		k := key{kind: Kind(s.flags), where: context}
		switch {
		case at < len(s.frames):
			names := namesOf(s.frames[at:])
			k.site, k.class = names[0], classOfFunctions(names[:1+within])
			if len(names) > 1 {
				k.caller = names[1]
			}
		case s.stackLost:
			k.site, k.class = siteLost, record.ClassOther
		case len(s.frames) > 0:
			k.site, k.class = siteUnknown, record.ClassOther
		case s.call != "":
			k.site, k.class = s.call, record.ClassOther
		default:
			k.site, k.class = siteNoStack, record.ClassOther
		}
		if s.flags&flagFutex != 0 {
			k.class = record.ClassUser
		}
		r := byKey[k]
		if r == nil {
			r = &row{addrs: map[uint64]bool{}}
			byKey[k] = r
		}
		r.merge(s.sums)
		for _, a := range s.addrs {
			r.addrs[a] = true
		}
		if at < len(s.frames) {
			names := namesOf(s.frames[at:])
			slices.Reverse(names)
			r.stacks = append(r.stacks, record.LockStack{Frames: names, Count: s.count, TotalNS: s.total})
		}
	}
	for k, r := range byKey {
		n := len(r.addrs)
		row := Row{
			Site: k.site, Caller: k.caller, Kind: k.kind, Class: k.class, Where: k.where, Source: source,
			Count: &r.count, TotalNS: &r.total, MinNS: &r.min, MaxNS: &r.max,
			Histogram: histogramOf(r.hist[:]), Stacks: MergeStacks(r.stacks),
		}
		if n > 0 {
			row.Addresses, row.AtLeast = &n, atLeast
		}
		rows = append(rows, row)
	}
	SortRows(rows)
	for i := range rows {
		if i >= stackRows {
			rows[i].Stacks = nil
		}
	}
	return rows, own
}

func namesOf(frames []kallsyms.Frame) []string {
	names := make([]string, len(frames))
	for i, f := range frames {
		if names[i] = f.Name; f.Name == "" {
			names[i] = siteUnknown
		}
	}
	return names
}

// MergeStacks sums stacks of one way and keeps the greatest.
func MergeStacks(in []record.LockStack) []record.LockStack {
	slices.SortFunc(in, func(a, b record.LockStack) int { return slices.Compare(a.Frames, b.Frames) })
	var out []record.LockStack
	for _, s := range in {
		if n := len(out); n > 0 && slices.Equal(out[n-1].Frames, s.Frames) {
			out[n-1].Count += s.Count
			out[n-1].TotalNS += s.TotalNS
			continue
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b record.LockStack) int { return cmp.Compare(b.TotalNS, a.TotalNS) })
	return out[:min(len(out), stacksOfARow)]
}

// histogramOf writes a histogram with one bucket to a power of two: bucket i
// counts values of i significant bits, which is package histogram's layout at
// SubBits 0.
func histogramOf(hist []uint64) *record.Histogram {
	h := &record.Histogram{Unit: "ns"}
	for i, n := range hist {
		if n > 0 {
			h.Buckets = append(h.Buckets, [2]uint64{uint64(i), n})
		}
	}
	if h.Buckets == nil {
		return nil
	}
	return h
}

// SortRows puts the greatest summed wait first, then the most waits or
// samples, then names, so that equal inputs give equal tables.
func SortRows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(value(b.TotalNS), value(a.TotalNS)),
			cmp.Compare(value(b.Count), value(a.Count)),
			cmp.Compare(value(b.Samples), value(a.Samples)),
			cmp.Compare(a.Site, b.Site), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Where, b.Where),
		)
	})
}

// value gives what p points to, or less than anything that is known.
func value(p *int64) int64 {
	if p == nil {
		return -1
	}
	return *p
}
