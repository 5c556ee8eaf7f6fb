package compare

import (
	"fmt"
	"math"
	"strings"
)

// Price is what watching cost: the throughput of a cell's instrumented runs over
// that of its plain ones, as the ratio of their geometric means, with its 95 %
// interval by Welch's t of the logarithms over the runs of both.
type Price struct {
	Ratio        float64  `json:"ratio"` // below 1: watching slowed the cell down
	Lo           float64  `json:"lo"`
	Hi           float64  `json:"hi"`
	Plain        int      `json:"plain"` // runs
	Instrumented int      `json:"instrumented"`
	Instruments  []string `json:"instruments"` // that were on
}

// PriceOf draws the price of instruments from the throughputs of a cell's plain
// and watched runs in their order, nil where a run has none. The first discard
// of each are left out, as of the cell's figures. The second value says why
// there is no price.
func PriceOf(plain, watched []*float64, instruments []string, discard int) (*Price, string) {
	p, w := logs(plain, discard), logs(watched, discard)
	d := Welch(p, w, false)
	if d == nil {
		return nil, fmt.Sprintf("a price needs 2 plain and 2 instrumented runs of this cell or more, and there are %d and %d (--runs)", len(p), len(w))
	}
	ratio, lo, hi := d.Ratio()
	return &Price{Ratio: ratio, Lo: lo, Hi: hi, Plain: d.N[0], Instrumented: d.N[1], Instruments: instruments}, ""
}

// logs gives the logarithms of the throughputs from the one after discard on.
func logs(v []*float64, discard int) (out []float64) {
	for _, x := range v[min(discard, len(v)):] {
		if x != nil && *x > 0 {
			out = append(out, math.Log(*x))
		}
	}
	return out
}

// String says it in words.
func (p *Price) String() string {
	of := ""
	if len(p.Instruments) > 1 {
		of = ", the price of all instruments together (" + strings.Join(p.Instruments, ", ") + ")"
	}
	if min(p.Plain, p.Instrumented) < 3 {
		of += "; 3 runs or more of each tell it better"
	}
	return fmt.Sprintf("throughput %.3g of the plain runs' (95 %% interval %.3g to %.3g; %d instrumented and %d plain runs)%s", p.Ratio, p.Lo, p.Hi, p.Instrumented, p.Plain, of)
}
