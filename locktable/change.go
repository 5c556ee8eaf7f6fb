package locktable

import (
	"fmt"
	"slices"
	"strconv"

	"udsbench/record"
)

// Change is how the waiting of one row changed from the first side to the
// second: a ratio and of what it is, or a word for why there is none.
type Change struct {
	Site   string   `json:"site"`
	Caller string   `json:"caller,omitempty"`
	Kind   string   `json:"kind"`
	Class  string   `json:"class"`
	Where  string   `json:"where"`
	Ratio  *float64 `json:"ratio,omitempty"` // second / first
	Of     string   `json:"of,omitempty"`    // ofOp and the like
	Word   string   `json:"word,omitempty"`  // gone and the like
}

// What the ratio of a change is of.
const (
	ofOp      = "wait per operation"
	ofTotal   = "total wait"
	ofSamples = "share of samples"
)

// Why a change has no ratio.
const (
	appeared    = "appeared" // not observed by the first side
	gone        = "gone"     // not observed by the second
	notMeasured = "not measured"
	otherSource = "another source"
	otherSites  = "without stacks"
	otherSpin   = "other spinlocks"
	untold      = "not told" // a side's figure that it would take is lacking, or 0
)

// changeOf compares a row of two sides. A side that never looked, or looked by
// other means, has not seen a row vanish.
func changeOf(sides []*Side, l line) Change {
	a, b := sides[0], sides[1]
	ra, rb := l.rows[0], l.rows[1]
	c := Change{Site: l.key.site, Caller: l.key.caller, Kind: l.key.kind, Class: l.key.class, Where: l.key.where}
	ratio := func(of string, x, y float64) Change {
		r := y / x
		c.Ratio, c.Of = &r, of
		return c
	}
	switch {
	case !a.looked() || !b.looked():
		c.Word = notMeasured
	case !slices.Equal(a.each(sourceOf), b.each(sourceOf)):
		c.Word = otherSource
	case !slices.Equal(a.each(sitesOf), b.each(sitesOf)):
		c.Word = otherSites
	case spins(l.key.kind) && !slices.Equal(a.each(spinlocksOf), b.each(spinlocksOf)):
		c.Word = otherSpin
	case ra == nil:
		c.Word = appeared
	case rb == nil:
		c.Word = gone
	case ra.TotalNS != nil && rb.TotalNS != nil && *ra.TotalNS > 0:
		x, y := float64(*ra.TotalNS), float64(*rb.TotalNS)
		if a.Ops != nil && b.Ops != nil && *a.Ops > 0 && *b.Ops > 0 {
			return ratio(ofOp, x / *a.Ops, y / *b.Ops)
		}
		return ratio(ofTotal, x, y)
	case part(ra.SampleShare) > 0 && part(rb.SampleShare) > 0:
		return ratio(ofSamples, part(ra.SampleShare), part(rb.SampleShare))
	default:
		c.Word = untold
	}
	return c
}

// looked tells whether anything watched the side's cell.
func (s *Side) looked() bool { return s.Runs > 0 || len(s.Rows) > 0 }

// each gives what f says of the side's instruments, each word once, sorted.
func (s *Side) each(f func(record.Instrument) string) (words []string) {
	for _, i := range s.Instruments {
		if w := f(i); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}

func sourceOf(i record.Instrument) string    { return i.Source }
func spinlocksOf(i record.Instrument) string { return i.Spinlocks }
func sitesOf(i record.Instrument) string     { return strconv.FormatBool(i.NoStacks) }

// spins tells whether waiters of a kind are seen as the kernel's spinlocks let
// them: see lockwait.Spinlocks.
func spins(kind string) bool {
	return kind == "spinlock" || kind == "rwlock:read" || kind == "rwlock:write"
}

// part gives a ratio as a number; 0 where it is not known.
func part(r *record.Ratio) float64 {
	if r == nil || r.Of == 0 {
		return 0
	}
	return float64(r.N) / float64(r.Of)
}

// String says it in the words of a table.
func (c Change) String() string {
	switch {
	case c.Word == untold:
		return absent
	case c.Ratio == nil:
		return c.Word
	case c.Of == ofOp:
		return fmt.Sprintf("×%.2f per op", *c.Ratio)
	case c.Of == ofSamples:
		return fmt.Sprintf("×%.2f of samples", *c.Ratio)
	}
	return fmt.Sprintf("×%.2f", *c.Ratio)
}
