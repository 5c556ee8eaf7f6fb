package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/montanaflynn/stats"

	"udsbench/record"
)

// Distance names how far two CPUs are apart, and gives names an order: nearer
// is less.
type Distance func(a, b int) (class string, order int)

// pairCPUs reads the placement of one pair on two named CPUs, or one.
func pairCPUs(c record.Cell) (a, b int, ok bool) {
	list, ok := strings.CutPrefix(c.Placement, "cpus=")
	if !ok || c.Workload != "pingpong" || c.Parallel != 1 {
		return 0, 0, false
	}
	first, second, two := strings.Cut(list, "+")
	if !two {
		second = first
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return a, b, errA == nil && errB == nil
}

// isMatrix reports whether the rows are ping-pongs of one pair that differ in
// their two CPUs alone.
func isMatrix(rows []Row) bool {
	for _, r := range rows {
		if _, _, ok := pairCPUs(r.Cell); !ok {
			return false
		}
		c, first := r.Cell, rows[0].Cell
		c.Placement, first.Placement = "", ""
		if fmt.Sprint(c) != fmt.Sprint(first) {
			return false
		}
	}
	return len(rows) > 1
}

// maxTriangle is up to how many CPUs the matrix is drawn as a triangle.
const maxTriangle = 16

// drawMatrix draws the time of a round trip between each two CPUs as a
// triangle, darker where it is longer, and sums it up by distance.
func drawMatrix(b *strings.Builder, rows []Row, distance Distance) {
	type pair struct{ a, b int }
	trip := map[pair]float64{} // ns a round trip; absent where all runs failed
	var cpus []int
	classes := map[string][]pair{}
	orders := map[string]int{}
	least, most := 0.0, 0.0
	spread := map[pair]float64{}
	for _, r := range rows {
		x, y, _ := pairCPUs(r.Cell)
		p := pair{min(x, y), max(x, y)}
		for _, n := range []int{x, y} {
			if !slices.Contains(cpus, n) {
				cpus = append(cpus, n)
			}
		}
		class, order := distance(x, y)
		classes[class] = append(classes[class], p)
		orders[class] = order
		if r.OpsPerS.Missing != "" {
			continue
		}
		ns := 1e9 / r.OpsPerS.Value
		trip[p], spread[p] = ns, r.Spread.Value
		if least == 0 || ns < least {
			least = ns
		}
		most = max(most, ns)
	}
	slices.Sort(cpus)
	if len(cpus) <= maxTriangle && len(rows) == len(cpus)*(len(cpus)+1)/2 {
		line(b, "time of a round trip between CPUs (median over runs)")
		b.WriteByte('\n')
		head := "      "
		for _, y := range cpus {
			head += fmt.Sprintf("%9d", y)
		}
		line(b, head)
		for i, x := range cpus {
			row := fmt.Sprintf("%6d", x)
			for _, y := range cpus[:i+1] {
				text := "failed"
				if ns, ok := trip[pair{y, x}]; ok {
					text = shade(ns, least, most) + Nanoseconds(ns)
				}
				row += fmt.Sprintf("%9s", text)
			}
			line(b, row)
		}
		b.WriteByte('\n')
	}
	names := make([]string, 0, len(classes))
	width := len("distance")
	for name := range classes {
		names = append(names, name)
		width = max(width, len(name))
	}
	slices.SortFunc(names, func(x, y string) int {
		if orders[x] != orders[y] {
			return orders[x] - orders[y]
		}
		return strings.Compare(x, y)
	})
	line(b, fmt.Sprintf("%-*s  pairs   median    least    most  runs ±", width, "distance"))
	for _, name := range names {
		var ns, spreads []float64
		for _, p := range classes[name] {
			if v, ok := trip[p]; ok {
				ns, spreads = append(ns, v), append(spreads, spread[p])
			}
		}
		if len(ns) == 0 {
			line(b, fmt.Sprintf("%-*s  %5d   failed", width, name, len(classes[name])))
			continue
		}
		slices.Sort(ns)
		mid, _ := stats.Median(ns)
		within, _ := stats.Median(spreads)
		line(b, fmt.Sprintf("%-*s  %5d %8s %8s %8s %6.1f%%", width, name, len(classes[name]),
			Nanoseconds(mid), Nanoseconds(ns[0]), Nanoseconds(ns[len(ns)-1]), within))
	}
	b.WriteByte('\n')
	line(b, "runs ±: half of the range of the runs of one pair, median over the pairs")
}

// shade marks how long a round trip is between the least and the most of all.
func shade(ns, least, most float64) string {
	marks := []string{"", "░", "▒", "▓", "█"}
	if most <= least*1.05 {
		return ""
	}
	return marks[min(int((ns-least)/(most-least)*float64(len(marks))), len(marks)-1)]
}
