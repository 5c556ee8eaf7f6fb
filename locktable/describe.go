package locktable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"udsbench/record"
)

// describe says what a side is and what its instrument cost.
func (s *Side) describe(b *strings.Builder, per string) {
	fmt.Fprintf(b, "%s: ", s.Name)
	if !s.looked() {
		b.WriteString("not measured: no instrumented run of this cell")
		if s.NoRuns != "" {
			b.WriteString(" (" + s.NoRuns + ")")
		}
		b.WriteString("\n")
		return
	}
	var words []string
	if s.Runs > 0 {
		words = append(words, plural(s.Runs, "instrumented run"))
	}
	if s.Failed > 0 {
		words = append(words, fmt.Sprintf("%d more failed", s.Failed))
	}
	if len(s.Instruments) > 0 {
		words = append(words, "source "+strings.Join(s.each(sourceAndOptions), ", "))
	}
	if s.Ops != nil {
		what := "operations"
		if per != perOperation {
			what = "waits at " + per
		}
		words = append(words, fmt.Sprintf("%.0f %s", *s.Ops, what))
	}
	if s.CPUSeconds != nil {
		words = append(words, fmt.Sprintf("%s CPU-seconds", number(*s.CPUSeconds)))
	}
	fmt.Fprintln(b, strings.Join(words, ", "))
	if len(s.Instruments) == 0 {
		return
	}
	fmt.Fprintf(b, "  the instrument's price: %s\n", strings.Join(s.cost(), "; "))
	if slices.ContainsFunc(s.Instruments, func(i record.Instrument) bool { return i.Diagnose }) {
		b.WriteString("  this kernel debugs or profiles its locks: diagnose only, never time; its times say nothing of another kernel\n")
	}
	if n, known := s.total(func(i record.Instrument) *int64 { return i.Unfinished }); known && n > 0 {
		fmt.Fprintf(b, "  %s had begun and not ended when a window closed: in no row\n", plural(int(n), "wait"))
	}
	if n, known := s.total(func(i record.Instrument) *int64 { return i.UnfinishedFutexes }); known && n > 0 {
		fmt.Fprintf(b, "  %s of workers in futex(2) had begun and not ended when a window closed: in no row\n", plural(int(n), "wait"))
	}
	for _, n := range s.notes() {
		fmt.Fprintf(b, "  note: %s\n", n)
	}
}

func sourceAndOptions(i record.Instrument) string {
	if i.Options == "" {
		return i.Source
	}
	return i.Source + " (locks+" + i.Options + ")"
}

// cost says what watching took.
func (s *Side) cost() []string {
	price := "throughput not available: " + s.NoPrice
	if s.Price != nil {
		price = s.Price.String()
	}
	words := []string{price}
	if self, known := s.total(func(i record.Instrument) *int64 { return i.SelfNS }); known {
		what := "its own CPU time"
		if slices.Equal(s.each(sourceOf), []string{"ebpf"}) {
			what = "programs' own time, by the kernel's count,"
		}
		own := what + " " + duration(float64(self))
		calls, counted := s.total(func(i record.Instrument) *int64 { return i.Calls })
		sampled, _ := s.total(func(i record.Instrument) *int64 { return i.Samples })
		switch {
		case counted && sampled > 0:
			own += fmt.Sprintf(" for looking %s at every thread, once in %s", times(calls), s.interval(calls))
		case counted:
			own += fmt.Sprintf(" in %d calls", calls)
		}
		if s.CPUSeconds != nil && *s.CPUSeconds > 0 {
			own += fmt.Sprintf(" (%.2f %% of all CPU time)", float64(self)/1e7 / *s.CPUSeconds)
		}
		words = append(words, own)
	}
	if lost, known := s.total(func(i record.Instrument) *int64 { return i.Lost }); known {
		words = append(words, fmt.Sprintf("%d events lost", lost))
	}
	return words
}

// total sums a figure over the runs; it is not known where one lacks it.
func (s *Side) total(f func(record.Instrument) *int64) (n int64, known bool) {
	for _, i := range s.Instruments {
		v := f(i)
		if v == nil {
			return 0, false
		}
		n += *v
	}
	return n, len(s.Instruments) > 0
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// interval is how often a source that samples looked.
func (s *Side) interval(rounds int64) string {
	window, known := s.total(func(i record.Instrument) *int64 { return i.WindowNS })
	if !known || rounds == 0 {
		return "a time that is not known"
	}
	return duration(float64(window) / float64(rounds))
}

// notes gives the runs' notes, and the better sources that were refused, once.
// Of a note that begins with a number the runs' numbers are summed.
func (s *Side) notes() []string {
	var order []string
	sums := map[string]int64{}
	say := func(note string) {
		n := int64(-1)
		if first, rest, ok := strings.Cut(note, " "); ok {
			if v, err := strconv.ParseInt(first, 10, 64); err == nil && v >= 0 {
				n, note = v, rest
			}
		}
		if _, have := sums[note]; !have {
			order = append(order, note)
			sums[note] = n
		} else if n >= 0 {
			sums[note] += n
		}
	}
	for _, i := range s.Instruments {
		for _, n := range i.Notes {
			say(n)
		}
		names := make([]string, 0, len(i.Refused))
		for n := range i.Refused {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			say("source " + n + " is not available: " + i.Refused[n])
		}
	}
	out := make([]string, len(order))
	for i, note := range order {
		if out[i] = note; sums[note] >= 0 {
			out[i] = fmt.Sprintf("%d %s", sums[note], note)
		}
	}
	return out
}

// Blind says what the table's sources cannot see, a sentence each; which side
// it is of, where it is not of all that were watched.
func (t *Table) Blind() []string {
	var order []string
	of := map[string][]string{}
	watched := 0
	for _, s := range t.Sides {
		if len(s.Instruments) > 0 {
			watched++
		}
		for _, i := range s.Instruments {
			for _, x := range i.Blind {
				if of[x] == nil {
					order = append(order, x)
				}
				if !slices.Contains(of[x], s.Name) {
					of[x] = append(of[x], s.Name)
				}
			}
		}
	}
	for i, x := range order {
		if len(of[x]) < watched {
			order[i] += " (" + strings.Join(of[x], ", ") + ")"
		}
	}
	return order
}

// blind writes what the sources cannot see.
func (t *Table) blind(b *strings.Builder) {
	all := t.Blind()
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\nnot seen by this source here, whatever the table says (%s: not observed, or not told):\n", absent)
	for _, x := range all {
		fmt.Fprintf(b, "  %s\n", x)
	}
}
