package locktable

import (
	"encoding/csv"
	"io"
	"strconv"

	"udsbench/plan"
	"udsbench/record"
)

// csvColumns are the first line of WriteCSV. Times are nanoseconds. at_least is
// true where addresses is a lower bound. The change stands on the lines of both
// sides: its ratio and of what it is, or a word for why there is none.
var csvColumns = []string{"cell", "side", "source", "site", "caller", "kind", "class", "where", "addresses", "at_least", "count", "per_op",
	"total_ns", "min_ns", "mean_ns", "max_ns", "cpu_share", "acquired", "samples", "sample_share", "change", "change_of"}

// WriteCSV writes one line a row and side, times in nanoseconds. A field is
// empty where the figure was not observed or is not told.
func WriteCSV(w io.Writer, tables []*Table, v View) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvColumns); err != nil {
		return err
	}
	for _, t := range tables {
		t = v.apply(t)
		cell := ""
		if t.Cell != nil {
			cell = plan.Key(*t.Cell)
		}
		s := t.show(v)
		for _, l := range append(s.kernel, s.user...) {
			change, of := "", ""
			if len(t.Sides) == 2 {
				ch := changeOf(t.Sides, l)
				if of = ch.Of; ch.Ratio != nil {
					change = strconv.FormatFloat(*ch.Ratio, 'g', 6, 64)
				} else {
					of = ch.Word
				}
			}
			for i, r := range l.rows {
				if r == nil {
					continue
				}
				if err := c.Write(csvLine(cell, t.Sides[i], r, change, of)); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

func csvLine(cell string, s *Side, r *record.Lock, change, of string) []string {
	n := func(p *int64) string {
		if p == nil {
			return ""
		}
		return strconv.FormatInt(*p, 10)
	}
	ratio := func(p *int64, of *float64, scale float64) string {
		if p == nil || of == nil || *of == 0 {
			return ""
		}
		return strconv.FormatFloat(float64(*p)/scale / *of, 'g', 6, 64)
	}
	addrs, atLeast, each, sampled := "", "", "", ""
	if r.Addresses != nil {
		addrs, atLeast = strconv.Itoa(*r.Addresses), strconv.FormatBool(r.AtLeast)
	}
	if r.Count != nil && r.TotalNS != nil && *r.Count > 0 {
		each = strconv.FormatFloat(float64(*r.TotalNS)/float64(*r.Count), 'f', 1, 64)
	}
	if p := part(r.SampleShare); p > 0 {
		sampled = strconv.FormatFloat(p, 'g', 6, 64)
	}
	return []string{cell, s.Name, r.Source, r.Site, r.Caller, r.Kind, r.Class, r.Where, addrs, atLeast, n(r.Count), ratio(r.Count, s.Ops, 1),
		n(r.TotalNS), n(r.MinNS), each, n(r.MaxNS), ratio(r.TotalNS, s.CPUSeconds, 1e9), n(r.Acquired), n(r.Samples), sampled, change, of}
}
