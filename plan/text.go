package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"udsbench/record"
)

// Text draws the plan for a person, as --dry-run prints it. perProcess and
// perRun are as in Estimate.
func (p *Plan) Text(perProcess, perRun time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %.12s: %s × %s = %s, seed %d\n", p.Hash,
		plural(len(p.Cells), "cell"), plural(p.Runs, "run"), plural(len(p.Cells)*p.Runs, "run"), p.Seed)
	if p.Paired != "" {
		fmt.Fprintf(&b, "paired by %s: levels are alive together and take turns in slices of %v, each run a set of processes of its own\n", p.Paired, time.Duration(p.SliceNS))
	}
	if p.ABSelf {
		b.WriteString("each twice, as A and as B (marked * in the order), to be set against itself\n")
	}
	if p.IdleLatency != "" {
		fmt.Fprintf(&b, "no CPU goes into an idle state that takes over %s µs to wake from\n", p.IdleLatency)
	}
	if p.Instrument != "" {
		fmt.Fprintf(&b, "and as many instrumented ones (%s), marked * in the order\n", p.Instrument)
	}
	end := "window " + time.Duration(p.WindowNS).String()
	if p.Ops > 0 {
		end = plural(int(p.Ops), "operation") + " a client"
	}
	fmt.Fprintf(&b, "a run: warm-up %v, %s, slices of %v", time.Duration(p.WarmupNS), end, time.Duration(p.SliceNS))
	if p.Discard > 0 {
		fmt.Fprintf(&b, "; the first %s of a cell left out of its figures", plural(p.Discard, "run"))
	}
	b.WriteByte('\n')
	if d, known := p.Estimate(perProcess, perRun); known {
		fmt.Fprintf(&b, "takes about %v, with %v to start a process and %v a run beside it\n", round(d), perProcess, perRun)
	} else {
		b.WriteString("how long it takes is not known: --ops ends the runs\n")
	}

	constant, varying := Varying(p.Cells)
	if len(constant) > 0 {
		b.WriteString("\nevery cell: " + joinFields(constant) + "\n")
	}
	if len(varying) > 0 {
		b.WriteByte('\n')
		rows := [][]string{append([]string{"cell"}, varying...)}
		for i, c := range p.Cells {
			rows = append(rows, append([]string{strconv.Itoa(i)}, pick(c, varying)...))
		}
		writeRows(&b, rows)

		b.WriteString("\norder:\n")
		for i, block := range p.Order {
			b.WriteString("block " + strconv.Itoa(i) + ":")
			for _, c := range block {
				b.WriteString(" " + strconv.Itoa(c%len(p.Cells)))
				if c >= len(p.Cells) {
					b.WriteByte('*')
				}
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString(p.LeftOutText())
	return b.String()
}

// LeftOutText lists the combinations left out by their reasons; "" where there
// are none.
func (p *Plan) LeftOutText() string {
	if len(p.LeftOut) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nleft out, %s that cannot exist:\n", plural(len(p.LeftOut), "combination"))
	var reasons []string
	byReason := map[string][]record.Cell{}
	for _, l := range p.LeftOut {
		if byReason[l.Reason] == nil {
			reasons = append(reasons, l.Reason)
		}
		byReason[l.Reason] = append(byReason[l.Reason], l.Cell)
	}
	for _, r := range reasons {
		fmt.Fprintf(&b, "  %d: %s\n", len(byReason[r]), r)
	}
	return b.String()
}

// pick gives the named fields of c; "-" for one that it has not.
func pick(c record.Cell, names []string) []string {
	have := map[string]string{}
	for _, f := range Fields(c) {
		have[f.Name] = f.Value
	}
	values := make([]string, len(names))
	for i, n := range names {
		v, ok := have[n]
		if !ok {
			v = "-"
		}
		values[i] = v
	}
	return values
}

// joinFields lists fields, a new line where one would pass 100 columns.
func joinFields(fs []Field) string {
	var b strings.Builder
	column := len("every cell: ")
	for i, f := range fs {
		text := f.Name + " " + f.Value
		if i < len(fs)-1 {
			text += ","
		}
		if column += len(text) + 1; column > 100 && i > 0 {
			b.WriteString("\n  ")
			column = 2 + len(text)
		} else if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return b.String()
}

// writeRows writes rows of equal length in columns; those of numbers alone are
// set to the right.
func writeRows(b *strings.Builder, rows [][]string) {
	for i := range rows[0] {
		width, numbers := 0, true
		for j, r := range rows {
			width = max(width, utf8.RuneCountInString(r[i]))
			if _, err := strconv.Atoi(r[i]); j > 0 && err != nil {
				numbers = false
			}
		}
		for _, r := range rows {
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(r[i]))
			if numbers {
				r[i] = pad + r[i]
			} else {
				r[i] += pad
			}
		}
	}
	for _, r := range rows {
		b.WriteString(strings.TrimRight(strings.Join(r, "  "), " ") + "\n")
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// round takes the digits off that an estimate cannot have.
func round(d time.Duration) time.Duration {
	for _, to := range []time.Duration{time.Minute, time.Second, 100 * time.Millisecond} {
		if d >= 20*to {
			return d.Round(to)
		}
	}
	return d.Round(time.Millisecond)
}
