// Package layout sets text for a terminal: paragraphs and columns that keep to
// a width. Widths count runes.
package layout

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Wrap breaks text at blanks into lines of at most width, where no word is
// longer.
func Wrap(text string, width int) (lines []string) {
	at := ""
	for _, word := range strings.Fields(text) {
		if at != "" && length(at)+1+length(word) > width {
			lines, at = append(lines, at), ""
		}
		if at != "" {
			at += " "
		}
		at += word
	}
	return append(lines, at)
}

// Paragraph writes text behind prefix, broken at blanks to width, the further
// lines indented by as much as the prefix is long.
func Paragraph(b *strings.Builder, width int, prefix, text string) {
	for _, l := range Wrap(text, width-length(prefix)) {
		b.WriteString(strings.TrimRight(prefix+l, " ") + "\n")
		prefix = strings.Repeat(" ", length(prefix))
	}
}

// leastLast is how wide the last column is at least where its text is broken:
// narrower text cannot be read, and stands below its row.
const leastLast = 36

// Columns writes rows, the first of which is their header, each line behind
// indent. Columns of numbers are set to the right. The last column is broken at
// blanks where a line would be wider than width; where there is little room for
// it, what stands behind its first ": " goes below the row.
func Columns(b *strings.Builder, width int, indent string, rows [][]string) {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	right := make([]bool, last)
	for i := range last {
		right[i] = !slices.ContainsFunc(rows[1:], func(row []string) bool { return !numeric(row[i]) })
		for _, row := range rows {
			widths[i] = max(widths[i], length(row[i]))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, cell := range row[:last] {
			pad := strings.Repeat(" ", widths[i]-length(cell))
			if right[i] {
				line.WriteString(pad + cell + "  ")
			} else {
				line.WriteString(cell + pad + "  ")
			}
		}
		at := length(line.String())
		text, below := row[last], ""
		if at+length(text) > width && width-at < leastLast {
			if head, rest, ok := strings.Cut(text, ": "); ok {
				text, below = head+":", rest
			}
		}
		for n, part := range Wrap(text, max(leastLast, width-at)) {
			if n > 0 {
				line.Reset()
				line.WriteString(strings.Repeat(" ", at))
			}
			b.WriteString(strings.TrimRight(line.String()+part, " ") + "\n")
		}
		if below != "" {
			Paragraph(b, width, indent+"    ", below)
		}
	}
}

// numeric reports whether a cell holds a number with whatever stands behind it,
// or nothing.
func numeric(cell string) bool {
	cell = strings.TrimLeft(cell, "+-−")
	return cell == "" || cell[0] >= '0' && cell[0] <= '9'
}

func length(s string) int { return utf8.RuneCountInString(s) }
