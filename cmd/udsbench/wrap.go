package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// textWidth is how wide text is where the terminal does not say.
const textWidth = 80

// leastText is how wide the second column of rows is at least.
const leastText = 30

// rows are lines of a name and a text, the texts in a column of their own.
type rows [][2]string

func (r *rows) add(name, text string) {
	if text != "" {
		*r = append(*r, [2]string{name, text})
	}
}

// write writes the rows, their texts broken at blanks so that no line is wider
// than width. A name that leaves too little room has a line of its own.
func (r rows) write(out io.Writer, width int) {
	column := 0
	for _, x := range r {
		if n := 2 + utf8.RuneCountInString(x[0]) + 2; n <= width-leastText {
			column = max(column, n)
		}
	}
	column = max(column, 6)
	for _, x := range r {
		head := "  " + x[0]
		if utf8.RuneCountInString(head)+2 > column {
			fmt.Fprintln(out, head)
			head = ""
		}
		for _, line := range wrap(x[1], width-column) {
			fmt.Fprintln(out, head+strings.Repeat(" ", column-utf8.RuneCountInString(head))+line)
			head = ""
		}
	}
}

// wrap breaks text at blanks into lines of at most width runes, where no word is
// longer.
func wrap(text string, width int) (lines []string) {
	at := ""
	for _, word := range strings.Fields(text) {
		if at != "" && utf8.RuneCountInString(at)+1+utf8.RuneCountInString(word) > width {
			lines, at = append(lines, at), ""
		}
		if at != "" {
			at += " "
		}
		at += word
	}
	return append(lines, at)
}

// wrapHelp has the help of a command and of those under it as wide as the
// terminal.
func wrapHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("flagUsages", func(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(terminalWidth(textWidth)) })
	t := root.UsageTemplate()
	for _, set := range []string{".LocalFlags", ".InheritedFlags"} {
		t = strings.ReplaceAll(t, set+".FlagUsages", "flagUsages "+set)
	}
	root.SetUsageTemplate(t)
}
