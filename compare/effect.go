package compare

import (
	"math"

	"udsbench/series"
)

// Effect is what a factor's level does on the average over all cells in which
// it and the first level stand: the main effect.
type Effect struct {
	Factor      string
	Before      string // the first level
	After       string
	Metric      series.Metric
	Cells       int         // cells that it is an average of
	Missing     int         // cells that only one of the two levels has
	Diff        *Difference // nil where some cell carries no spread; its Log is then in Log
	Log         float64     // of the ratio, on the average
	Least, Most *Cell       // the cells in which the level did least and most for the figure
	Only        string      // "this boot only", or ""

	factors []string // fields that no cell is told by
}

// Effects gives the main effects of one factor from its comparison.
func Effects(factor string, r *Result) []Effect {
	var all []Effect
	for _, p := range r.Pairs {
		for _, m := range r.Input.Metrics {
			if e, ok := effect(factor, p, m); ok {
				e.factors = r.Input.Factors
				all = append(all, e)
			}
		}
	}
	return all
}

func effect(factor string, p *Pair, m series.Metric) (Effect, bool) {
	e := Effect{Factor: factor, Before: p.Before, After: p.After, Metric: m, Only: p.Only}
	var sum, variance, satterthwaite float64
	spread := true
	for _, c := range p.Cells {
		if c.Metric.Name != m.Name {
			continue
		}
		if math.IsNaN(c.Ratio) {
			e.Missing++
			continue
		}
		e.Cells++
		log := math.Log(c.Ratio)
		sum += log
		if e.Least == nil || log < math.Log(e.Least.Ratio) {
			e.Least = c
		}
		if e.Most == nil || log > math.Log(e.Most.Ratio) {
			e.Most = c
		}
		if c.Diff == nil {
			spread = false
			continue
		}
		v := c.Diff.SE * c.Diff.SE
		variance += v
		satterthwaite += v * v / c.Diff.DF
	}
	if e.Cells == 0 {
		return e, false
	}
	k := float64(e.Cells)
	e.Log = sum / k
	if spread && variance > 0 {
		e.Diff = (&Difference{Log: e.Log, SE: math.Sqrt(variance) / k, DF: variance * variance / satterthwaite}).finish()
	}
	return e, true
}

// Name gives a cell by the fields in which the pair's cells differ.
func (p *Pair) Name(c *Cell, factors []string) string {
	var cells []*Cell
	for _, o := range p.Cells {
		if o.Metric.Name == c.Metric.Name {
			cells = append(cells, o)
		}
	}
	names := newNames(cells, factors)
	return names.of(c)
}
