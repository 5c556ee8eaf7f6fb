package locktable

import (
	"strings"
	"unicode/utf8"
)

// grid is text in columns: the first left ones flush left, the others right.
type grid struct {
	left int
	rows [][]string
	span []span
}

type span struct {
	from, to int
	text     string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) over(from, to int, text string) { g.span = append(g.span, span{from, to, text}) }

func (g *grid) write(b *strings.Builder) {
	width := make([]int, len(g.rows[0]))
	for _, r := range g.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	at := func(i int) (n int) { // where column i begins
		for _, w := range width[:i] {
			n += w + 2
		}
		return n
	}
	if len(g.span) > 0 {
		var l strings.Builder
		for _, s := range g.span {
			room := at(s.to) - at(s.from) - 2
			text := []rune(s.text)
			if len(text) > room {
				text = append(text[:max(room-1, 0)], '…')
			}
			l.WriteString(strings.Repeat(" ", max(0, at(s.to)-2-len(text)-utf8.RuneCountInString(l.String()))))
			l.WriteString(string(text))
		}
		b.WriteString(l.String() + "\n")
	}
	for _, r := range g.rows {
		var l strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i < g.left {
				l.WriteString(c + pad)
			} else {
				l.WriteString(pad + c)
			}
			l.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
}
