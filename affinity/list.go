package affinity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxCPU is the highest processor number that is taken. Kernels are built
// for at most 8192; the limit keeps a mistyped list from filling memory.
const MaxCPU = 1<<16 - 1

// ParseList reads a list of processors such as 0-3,8 or 0-3+8: numbers and
// ranges, separated by commas (as kernels write them) or by plus signs (as
// the command line does, where a comma separates values). It keeps the order
// written and takes each processor once. An empty text is an empty list.
func ParseList(text string) ([]int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	var cpus []int
	seen := make(map[int]bool)
	for _, item := range strings.FieldsFunc(strings.ReplaceAll(text, "+", ","), isComma) {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		if !isRange {
			last = first
		}
		lo, err := number(first)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", text, err)
		}
		hi, err := number(last)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", text, err)
		}
		if hi < lo {
			return nil, fmt.Errorf("CPU list %q: %d-%d runs backwards", text, lo, hi)
		}
		for c := lo; c <= hi; c++ {
			if !seen[c] {
				seen[c] = true
				cpus = append(cpus, c)
			}
		}
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("CPU list %q names no CPU", text)
	}
	return cpus, nil
}

func isComma(r rune) bool { return r == ',' }

func number(text string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is no CPU number", text)
	}
	if n > MaxCPU {
		return 0, fmt.Errorf("CPU %d is over %d, the highest that is taken", n, MaxCPU)
	}
	return int(n), nil
}

// FormatList writes processors as ranges, ascending, each once: 0-3,8. An
// empty list is "none".
func FormatList(cpus []int) string { return format(cpus, ",") }

// FormatValue is FormatList in the spelling of a command line value: 0-3+8.
func FormatValue(cpus []int) string { return format(cpus, "+") }

func format(cpus []int, separator string) string {
	if len(cpus) == 0 {
		return "none"
	}
	sorted := slices.Clone(cpus)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	var b strings.Builder
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(strconv.Itoa(sorted[i]))
		if j == i+1 {
			b.WriteString(separator + strconv.Itoa(sorted[j]))
		} else if j > i {
			b.WriteString("-" + strconv.Itoa(sorted[j]))
		}
		i = j + 1
	}
	return b.String()
}
