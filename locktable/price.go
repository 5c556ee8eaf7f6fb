package locktable

import (
	"slices"

	"udsbench/compare"
	"udsbench/record"
)

// Price is what watching cost. Instruments are those of locks alone where there
// are such runs.
type Price = compare.Price

// prices are the throughputs that a price is drawn from, in their order; nil
// where a run has none.
type prices struct {
	plain []*float64
	runs  []watched
}

type watched struct {
	instruments []string
	opsPerS     *float64
}

func (p *prices) add(r record.Run) {
	w := watched{opsPerS: r.OpsPerS}
	for _, i := range r.Instruments {
		w.instruments = append(w.instruments, i.Name)
	}
	p.runs = append(p.runs, w)
}

// price leaves out the first runs of each kind, as the cell's figures do. The
// second value says why there is no price.
func (p *prices) price(discard int) (*Price, string) {
	// Of the runs with the fewest instruments on: those of locks alone, if any.
	var least []string
	for _, w := range p.runs {
		if least == nil || len(w.instruments) < len(least) {
			least = w.instruments
		}
	}
	var with []*float64
	for _, w := range p.runs {
		if slices.Equal(w.instruments, least) {
			with = append(with, w.opsPerS)
		}
	}
	return compare.PriceOf(p.plain, with, least, discard)
}
