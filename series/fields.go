package series

import (
	"slices"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// Known gives the fields of a cell that say something. Every cell that was
// measured here has them all; an imported one has few, and what it does not
// know must not read as "no" or 0.
func Known(c record.Cell) []plan.Field {
	return slices.DeleteFunc(plan.Fields(c), func(f plan.Field) bool {
		if f.Value == "" {
			return true
		}
		if c.Model != "" {
			return false
		}
		switch f.Name {
		case "one-process":
			return !c.OneProcess
		case "request":
			return c.Request <= 0
		case "response":
			return c.Response <= 0
		case "parallel":
			return c.Parallel == 0
		}
		return strings.HasPrefix(f.Name, "nice-") && f.Value == "0"
	})
}
