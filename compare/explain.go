package compare

import (
	"fmt"
	"io"
	"math"
	"strings"

	"udsbench/layout"
	"udsbench/series"
)

// Explain prints every step from the runs of one cell to its word.
func (r *Result) Explain(w io.Writer, c *Cell, width int) error {
	x := explanation{c: c, unit: c.Metric.Unit, width: width}
	p := c.Pair
	x.say("", "#%d %s: %s against %s", c.Number, p.Name(c, r.Input.Factors), p.After, p.Before)
	x.say("", "%s", meaning(c.Metric, []*Cell{c}))

	x.say("\n", "1. The runs, in the order in which they were run")
	for _, s := range []*Sample{c.Before, c.After} {
		x.runs(s, r.Input.Discard)
	}
	if c.Verdict == FailedCell {
		x.say("\n", "So: failed: %s", strings.Join(c.Notes, "; "))
		_, err := io.WriteString(w, x.String())
		return err
	}
	x.say("\n", "2. What counts once")
	x.units()
	x.say("\n", "3. How far the sides are apart")
	x.difference()
	x.say("\n", "4. The word")
	x.word(r.Input.Threshold)
	if len(c.Reasons) > 0 {
		x.say("\n", "5. Why")
		x.reasons()
	}
	_, err := io.WriteString(w, x.String())
	return err
}

// explanation is the text for one cell.
type explanation struct {
	strings.Builder
	c     *Cell
	unit  string
	width int
}

// say writes a paragraph; prefix may begin with a line break.
func (x *explanation) say(prefix, format string, args ...any) {
	rest, broken := strings.CutPrefix(prefix, "\n")
	if broken {
		x.WriteByte('\n')
	}
	layout.Paragraph(&x.Builder, x.width, rest, fmt.Sprintf(format, args...))
}

func (x *explanation) runs(s *Sample, discard int) {
	if why := s.usable(); why != "" {
		x.say("  ", "%s", why)
	}
	for n, one := range s.Series {
		boot := "boot not known"
		if one.Boot != "" {
			boot = fmt.Sprintf("boot %.8s", one.Boot)
		}
		values := one.Values()
		kept := one.Points[s.Left[n]:]
		out := series.Outliers(values)
		var each []string
		for i, v := range values {
			text := figure(v, x.unit)
			if i < len(values)-len(kept) {
				text += " (left out)"
			} else if out[i] {
				text += " (stands apart)"
			}
			each = append(each, text)
		}
		if len(one.Failed) > 0 {
			each = append(each, plural(len(one.Failed), "run")+" failed")
		}
		if len(one.Without) > 0 {
			each = append(each, plural(len(one.Without), "run")+" without this figure")
		}
		x.say("  ", "%s, %s: %s", s.Side, boot, strings.Join(each, "  "))
		if len(values) == 0 || takeTurns(s.Series) {
			continue
		}
		st := series.SteadyState(values)
		text := string(st.State) + ": " + st.Why
		if discard != series.Auto {
			text += fmt.Sprintf("; the first %s left out as asked", plural(s.Left[n], "run"))
		} else if s.Left[n] != st.Start {
			text += fmt.Sprintf("; the first %s left out, as in most cells", plural(s.Left[n], "run"))
		}
		if d := series.DriftOf(kept); d.Seen() {
			text += fmt.Sprintf("; the rate drifts by %+.1f %% from first to last (p %.2g)", 100*d.Whole, d.P)
		}
		x.say("    ", "%s", text)
		if w := one.WarmUp(); w.Runs > 0 && 2*w.StartUp > w.Runs {
			x.say("    ", "in %d of %d runs the window begins with start-up, up to %.2g s: warm-up is too short", w.StartUp, w.Runs, w.LongestS)
		}
	}
}

func (x *explanation) units() {
	c, p := x.c, x.c.Pair
	paired := c.Diff != nil && c.Diff.Paired
	switch {
	case p.Unit == UnitBoot:
		x.say("  ", "The sides are different boots, and one boot differs from the next: each boot counts once, by the mean of its runs.")
	case paired && c.Diff.sets:
		x.say("  ", "The levels took turns in short slices: each set of processes counts once, by the median over its rounds of %s / %s. What is said holds for %s.", p.After, p.Before, p.Only)
	case paired:
		x.say("  ", "The sides were run in the same blocks: each block counts once, by the ratio of its two figures. What is said holds for %s.", p.Only)
	default:
		x.say("  ", "Each run counts once. What is said holds for %s.", p.Only)
	}
	if paired {
		var each []string
		for _, log := range c.logs {
			each = append(each, change(math.Exp(log)))
		}
		x.say("  ", "%s / %s: %s", p.After, p.Before, strings.Join(each, "  "))
		x.spread(c.logs, !c.Diff.sets)
		return
	}
	for _, s := range []*Sample{c.Before, c.After} {
		logs := s.Logs()
		var each []string
		for _, u := range s.Units {
			each = append(each, figure(u.Mean(), x.unit))
		}
		x.say("  ", "%s: %s", s.Side, strings.Join(each, "  "))
		x.spread(logs, p.Unit == UnitRun)
	}
	if p.Unit == UnitBoot {
		x.say("  ", "scatter from boot to boot %s, from run to run within a boot %s", sd(c.Components.Boot), sd(c.Components.Run))
	}
}

// spread says mean and scatter of logarithms.
func (x *explanation) spread(logs []float64, ordered bool) {
	if len(logs) < 2 {
		return
	}
	m, v, n := moments(logs)
	text := fmt.Sprintf("%d values; their logarithms have the mean %.5f and the standard deviation %.5f (about %s)", n, m, math.Sqrt(v), percent(math.Sqrt(v)))
	if e := effective(logs, ordered); e < float64(n) {
		text += fmt.Sprintf("; each resembles the one before it (autocorrelation %.2f), so they are worth %.1f", series.Autocorrelation(logs, 1), e)
	}
	x.say("    ", "%s", text)
}

func (x *explanation) difference() {
	c := x.c
	d := c.Diff
	if d == nil {
		x.say("  ", "after / before is %.4f (%s); there is no interval: %s", c.Ratio, change(c.Ratio), c.Need.Why)
		return
	}
	ratio, lo, hi := d.Ratio()
	of := "mean logarithm after, less that before"
	t := "Welch's t"
	if d.Paired {
		of, t = "mean logarithm of the ratios", "t of the pairs"
	}
	x.say("  ", "%s: %+.5f, so after / before is %.4f (%s)", of, d.Log, ratio, change(ratio))
	if d.exact() {
		x.say("  ", "no interval: the figures repeat to the last digit")
		return
	}
	x.say("  ", "how sure: standard error %.5f, degrees of freedom %.2f, so the 95 %% interval is %+.5f ± %.3f × %.5f: after / before between %.4f and %.4f (%s)",
		d.SE, d.DF, d.Log, tQuantile((1-confidence)/2, d.DF), d.SE, lo, hi, interval(d))
	if d.SE > 0 {
		x.say("  ", "p, how often chance alone makes a difference as great, from the same t: %.4g (%s %.3f)", d.P, t, d.Log/d.SE)
	}
	cells := "this is the only cell looked at, so p stays"
	if c.Tests > 1 {
		cells = fmt.Sprintf("of %d cells looked at one or the other moves by chance, so p is adjusted for them (Holm)", c.Tests)
	}
	x.say("  ", "%s: %.4g", cells, c.Adjusted)
	name := "Mann-Whitney"
	if d.Paired {
		name = "Wilcoxon's signed ranks"
	}
	if math.IsNaN(c.Rank) {
		x.say("  ", "a rank test beside it (%s): not available", name)
	} else {
		x.say("  ", "a rank test beside it (%s), which does not decide: p %.4g", name, c.Rank)
	}
	switch {
	case c.Trimmed != nil:
		ratio, _, _ := c.Trimmed.Ratio()
		x.say("  ", "without %s that stand%s apart: %s (%s)", plural(c.Outliers, "run"), map[bool]string{true: "s"}[c.Outliers == 1], change(ratio), interval(c.Trimmed))
	case c.Outliers == 0:
		x.say("  ", "no run stands apart (of fewer than 5 none can be told to)")
	}
}

func (x *explanation) word(threshold float64) {
	c := x.c
	rows := [][]string{{"failed: has a side no usable run?", "no", ""}}
	if d := c.Diff; d != nil && !d.exact() {
		limit := 1 + threshold
		_, lo, hi := d.Ratio()
		inside := lo > 1/limit && hi < limit
		rows = append(rows, []string{"same: is the change surely within " + percent(threshold) + "?", yes(inside), fmt.Sprintf("%.4f … %.4f inside %.4f … %.4f", lo, hi, 1/limit, limit)})
		if c.Verdict != Same {
			excludes, beyond := lo > 1 || hi < 1, "1"
			if r := c.Metric.Resolution; r > 0 {
				excludes, beyond = d.Lo > r || d.Hi < -r, "1 by more than percentiles are rounded ("+percent(r)+")"
			}
			rows = append(rows, []string{"faster, slower: does the interval exclude " + beyond + ",", yes(excludes), ""},
				[]string{fmt.Sprintf("and is the adjusted p under %g?", alpha), yes(c.Adjusted < alpha), fmt.Sprintf("%.4g", c.Adjusted)})
		}
	}
	layout.Columns(&x.Builder, x.width, "  ", rows)
	x.say("  ", "So: %s", c.word())
	if c.Need != nil && c.Need.Why != "" {
		x.say("  ", "%s", c.Need.Why)
	}
}

func (x *explanation) reasons() {
	for _, reason := range x.c.Reasons {
		switch data := reason.Data.(type) {
		case *TimeSplit:
			head, rows, withheld := data.lines()
			x.say("  ", "%s", head)
			layout.Columns(&x.Builder, x.width, "  ", rows)
			for _, t := range withheld {
				x.say("  ", "%s", t)
			}
		case Attribution:
			x.say("  ", "%s", data.Text)
			layout.Columns(&x.Builder, x.width, "    ", data.rows())
		default:
			x.say("  ", "%s", reason.Text)
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
