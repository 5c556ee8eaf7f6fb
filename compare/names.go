package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"udsbench/plan"
	"udsbench/record"
	"udsbench/series"
)

// names says cells by the fields in which they differ.
type names struct {
	constant []plan.Field // what all cells share, factors left out
	varying  []string
}

func newNames(cells []*Cell, factors []string) names {
	var plain []record.Cell
	if len(cells) == 0 {
		return names{}
	}
	for _, c := range cells {
		plain = append(plain, c.Cell)
	}
	var n names
	isFactor := func(name string) bool {
		return slices.Contains(factors, name) || slices.Contains(factors, strings.ReplaceAll(name, "-", "_"))
	}
	n.constant, n.varying = plan.Varying(plain)
	n.varying = slices.DeleteFunc(n.varying, isFactor)
	known := series.Known(plain[0])
	n.constant = slices.DeleteFunc(n.constant, func(f plan.Field) bool { return isFactor(f.Name) || !slices.Contains(known, f) })
	return n
}

func (n names) values(c *Cell) []string {
	vs := make([]string, len(n.varying))
	for i, name := range n.varying {
		vs[i] = "-"
		if v, ok := field(c.Cell, name); ok && v != "" {
			vs[i] = v
		}
	}
	return vs
}

func (n names) of(c *Cell) string {
	var parts []string
	for i, v := range n.values(c) {
		if v != "-" {
			parts = append(parts, n.varying[i]+" "+v)
		}
	}
	if len(parts) == 0 {
		return c.Cell.Workload
	}
	return strings.Join(parts, ", ")
}

func (n names) shared() string {
	var parts []string
	for _, f := range n.constant {
		parts = append(parts, f.Name+" "+f.Value)
	}
	return strings.Join(parts, ", ")
}

// meaning says what the figures of a metric are, and which of them are good.
func meaning(m series.Metric, cells []*Cell) string {
	if !m.LowerIsBetter {
		return "operations a second, higher is better"
	}
	what := m.Name
	if m.Name == "mean" {
		what = "the mean"
	}
	var of []string
	by := map[string][]string{}
	for _, c := range cells {
		for _, s := range []*Sample{c.Before, c.After} {
			for _, u := range s.Units {
				text := u.Points[0].Run.LatencyOf
				if text == "" {
					text = "an operation" // of an imported run, or a session from before it was said
				}
				if by[text] == nil {
					of = append(of, text)
				}
				if !slices.Contains(by[text], c.Cell.Workload) {
					by[text] = append(by[text], c.Cell.Workload)
				}
			}
		}
	}
	switch len(of) {
	case 0:
		return what + " of latency, lower is better: slower is a longer time"
	case 1:
		return fmt.Sprintf("%s of the time of %s, lower is better: slower is a longer time", what, of[0])
	}
	var each []string
	for _, text := range of {
		each = append(each, strings.Join(by[text], ", ")+": "+text)
	}
	return fmt.Sprintf("%s of the time of (%s), lower is better: slower is a longer time", what, strings.Join(each, "; "))
}

// figure writes a value of a metric for a table: operations a second whole
// and with separators, times in microseconds.
func figure(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case unit == "ns":
		return fmt.Sprintf("%.4g µs", v/1e3)
	case v < 100:
		return fmt.Sprintf("%.4g", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// center is the figure of a sample that the ratio is made of: the geometric
// mean of its units.
func (s *Sample) center() float64 {
	if len(s.Units) == 0 {
		return math.NaN()
	}
	m, _, _ := moments(s.Logs())
	return math.Exp(m)
}

func interval(d *Difference) string {
	if d == nil {
		return "-"
	}
	_, lo, hi := d.Ratio()
	return change(lo) + " … " + change(hi)
}
