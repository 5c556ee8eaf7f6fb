package compare

import (
	"fmt"
	"io"
	"math"
	"strings"

	"udsbench/series"
)

// Explain prints every step from the runs of one cell to its word.
func (r *Result) Explain(w io.Writer, c *Cell) error {
	var b strings.Builder
	p := c.Pair
	fmt.Fprintf(&b, "#%d %s, %s: %s against %s\n", c.Number, p.Name(c, r.Input.Factors), c.Metric.Name, p.Before, p.After)

	b.WriteString("\n1. the runs, in order\n")
	for _, s := range []*Sample{c.Before, c.After} {
		explainRuns(&b, s, r.Input.Discard, c.Metric.Unit)
	}
	if c.Verdict == FailedCell {
		fmt.Fprintf(&b, "\nfailed: %s\n", strings.Join(c.Notes, "; "))
		_, err := io.WriteString(w, b.String())
		return err
	}

	b.WriteString("\n2. the units\n")
	switch {
	case p.Unit == UnitBoot:
		b.WriteString("  the sides are different boots, so the boot is the unit: each counts once, by the mean of its runs\n")
	case c.Diff != nil && c.Diff.Paired:
		b.WriteString("  the sides were run in the same blocks of one boot, so each block gives one pair of figures; " + p.Only + "\n")
	default:
		b.WriteString("  the run is the unit; " + p.Only + "\n")
	}
	for _, s := range []*Sample{c.Before, c.After} {
		logs := s.Logs()
		fmt.Fprintf(&b, "  %s:", s.Side)
		for i, u := range s.Units {
			fmt.Fprintf(&b, " %s (ln %.5f)", figure(u.Mean(), c.Metric.Unit), logs[i])
		}
		b.WriteByte('\n')
		if len(logs) > 1 {
			m, v, n := moments(logs)
			fmt.Fprintf(&b, "    mean of ln %.5f, standard deviation %.5f (%s), n %d", m, math.Sqrt(v), percent(math.Sqrt(v)), n)
			if e := series.EffectiveSize(logs); p.Unit == UnitRun && e < float64(n) {
				fmt.Fprintf(&b, "; runs follow each other (autocorrelation %.2f), so they are worth %.1f", series.Autocorrelation(logs, 1), e)
			}
			b.WriteByte('\n')
		}
	}
	if p.Unit == UnitBoot {
		fmt.Fprintf(&b, "  scatter from boot to boot %s, from run to run within a boot %s\n", sd(c.Components.Boot), sd(c.Components.Run))
	}

	b.WriteString("\n3. the difference\n")
	if d := c.Diff; d == nil {
		fmt.Fprintf(&b, "  ratio %.4f; no interval: %s\n", c.Ratio, c.Need.Why)
	} else {
		ratio, lo, hi := d.Ratio()
		how := "Welch's"
		if d.Paired {
			how = fmt.Sprintf("of %d pairs", d.N[0])
		}
		fmt.Fprintf(&b, "  mean of ln, after less before: %+.5f, so after/before is %.4f (%s)\n", d.Log, ratio, change(ratio))
		fmt.Fprintf(&b, "  standard error %.5f, degrees of freedom %.2f; t %s: %.3f\n", d.SE, d.DF, how, d.Log/d.SE)
		fmt.Fprintf(&b, "  95 %% interval: %+.5f ± %.3f × %.5f, so %.4f … %.4f (%s)\n", d.Log, tQuantile((1-confidence)/2, d.DF), d.SE, lo, hi, interval(d))
		fmt.Fprintf(&b, "  p of no difference, from the same t: %.4g\n", d.P)
		name := "Mann-Whitney"
		if d.Paired {
			name = "Wilcoxon's signed ranks"
		}
		if math.IsNaN(c.Rank) {
			fmt.Fprintf(&b, "  rank test beside it: not available\n")
		} else {
			fmt.Fprintf(&b, "  rank test beside it (%s), which does not decide: p %.4g\n", name, c.Rank)
		}
		if c.Trimmed != nil {
			ratio, _, _ := c.Trimmed.Ratio()
			fmt.Fprintf(&b, "  without %s: %s (%s)\n", plural(c.Outliers, "outlier"), change(ratio), interval(c.Trimmed))
		} else if c.Outliers == 0 {
			b.WriteString("  no outliers\n")
		}
		fmt.Fprintf(&b, "\n4. adjusted for %s looked at (Holm): p %.4g\n", plural(c.Tests, "cell"), c.Adjusted)
	}

	b.WriteString("\n5. the word\n")
	limit := 1 + r.Input.Threshold
	fmt.Fprintf(&b, "  a side without usable runs: no\n")
	if d := c.Diff; d != nil {
		_, lo, hi := d.Ratio()
		fmt.Fprintf(&b, "  interval inside %.4f … %.4f (threshold %s): %s\n", 1/limit, limit, percent(r.Input.Threshold), yes(lo > 1/limit && hi < limit))
		if c.Verdict != Same {
			fmt.Fprintf(&b, "  interval excludes 1: %s; adjusted p under %g: %s\n", yes(lo > 1 || hi < 1), alpha, yes(c.Adjusted < alpha))
		}
	}
	fmt.Fprintf(&b, "  so: %s\n", c.word())
	if c.Need != nil {
		fmt.Fprintf(&b, "  %s\n", c.Need.Text(p.Unit))
		if c.Need.Why != "" && (c.Need.Boots != nil || c.Need.Runs != nil) {
			fmt.Fprintf(&b, "  %s\n", c.Need.Why)
		}
	}
	for i, reason := range c.Reasons {
		if i == 0 {
			b.WriteString("\n6. why\n")
		}
		fmt.Fprintf(&b, "  %s\n", reason.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func explainRuns(b *strings.Builder, s *Sample, discard int, unit string) {
	if why := s.usable(); why != "" {
		fmt.Fprintf(b, "  %s\n", why)
	}
	for n, one := range s.Series {
		boot := one.Boot
		if boot == "" {
			boot = "not known"
		}
		fmt.Fprintf(b, "  %s, boot %s:", s.Side, boot)
		values := one.Values()
		kept := one.Points[s.Left[n]:]
		out := series.Outliers(values)
		for i, v := range values {
			mark := ""
			if i < len(values)-len(kept) {
				mark = " (left out)"
			} else if out[i] {
				mark = " (outlier)"
			}
			fmt.Fprintf(b, " %s%s", figure(v, unit), mark)
		}
		if len(one.Failed) > 0 {
			fmt.Fprintf(b, "; %s failed", plural(len(one.Failed), "run"))
		}
		b.WriteByte('\n')
		if len(values) == 0 {
			continue
		}
		st := series.SteadyState(values)
		fmt.Fprintf(b, "    %s: %s", st.State, st.Why)
		if discard != series.Auto {
			fmt.Fprintf(b, "; the first %s left out as asked", plural(s.Left[n], "run"))
		} else if s.Left[n] != st.Start {
			fmt.Fprintf(b, "; the first %s left out, as in most cells", plural(s.Left[n], "run"))
		}
		if d := series.DriftOf(kept); d.Seen() {
			fmt.Fprintf(b, "; drift %+.1f %% from first to last (p %.2g)", 100*d.Whole, d.P)
		}
		b.WriteByte('\n')
		if w := one.WarmUp(); w.Runs > 0 && 2*w.StartUp > w.Runs {
			fmt.Fprintf(b, "    in %d of %d runs the window begins with start-up, up to %.2g s: warm-up is too short\n", w.StartUp, w.Runs, w.LongestS)
		}
	}
}

func sd(variance float64) string {
	if math.IsNaN(variance) {
		return "not known"
	}
	return percent(math.Sqrt(variance))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
