package profile

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Show prints p as a person reads it.
func (p *Profile) Show(out io.Writer) {
	for _, line := range wrap(p.Description, 78) {
		if line != "" {
			fmt.Fprintln(out, line)
		}
	}
	how := "in order"
	if p.Weighted() {
		how = "drawn at random by weight"
	} else if n := p.Cycle(); n > 1 {
		how = fmt.Sprintf("in order, %d to a cycle", n)
	}
	fmt.Fprintf(out, "\n%d kinds of exchange, %s\n\n", len(p.Exchanges), how)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "exchange\tshare\trequest\treply\treply writes\twork\t")
	all := 0.0
	for i := range p.Exchanges {
		all += p.Exchanges[i].share()
	}
	for i := range p.Exchanges {
		x := &p.Exchanges[i]
		fmt.Fprintf(w, "%s\t%.1f %%\t%s\t%s\t%d\t%s\t\n", x.Name, 100*x.share()/all, spread(x.Request, bytes), spread(x.Response, bytes), len(x.Response), spread([]Dist{x.Work}, nanoseconds))
	}
	fmt.Fprintf(w, "mean\t\t%s\t%s\t\t%s\t\n", bytes(p.RequestBytes()), bytes(p.ResponseBytes()), nanoseconds(p.WorkNS()))
	w.Flush()
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	reads := "whole requests"
	if p.Header > 0 {
		reads = fmt.Sprintf("a header of %d bytes, then the rest", p.Header)
	}
	fmt.Fprintf(w, "server reads\t%s (%s)\n", reads, p.IO)
	fmt.Fprintf(w, "client reads\tup to %d bytes (%s)\n", p.ClientRead, p.ClientIO)
	fmt.Fprintf(w, "server's clock\t%s\n", p.Clock)
	fmt.Fprintf(w, "server's lock\t%s\n", p.Lock)
	for _, note := range p.Notes {
		fmt.Fprintf(w, "note\t%s\n", note)
	}
	w.Flush()
}

// spread is the mean of the sums of ds, with their range where there is one.
func spread(ds []Dist, unit func(float64) string) string {
	var least, most int64
	for _, d := range ds {
		least += d[0]
		most += d.Max()
	}
	if least == most {
		return unit(meanOf(ds))
	}
	return fmt.Sprintf("%s (%s…%s)", unit(meanOf(ds)), unit(float64(least)), unit(float64(most)))
}

func bytes(n float64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", n/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", n/(1<<10))
	case n == float64(int64(n)):
		return fmt.Sprintf("%.0f B", n)
	}
	return fmt.Sprintf("%.1f B", n)
}

func nanoseconds(ns float64) string {
	if ns == 0 {
		return "-"
	}
	d := time.Duration(ns)
	switch {
	case d >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	case d >= 10*time.Microsecond:
		d = d.Round(100 * time.Nanosecond)
	}
	return d.String()
}
