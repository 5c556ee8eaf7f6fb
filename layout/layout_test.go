package layout

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var words = rapid.SliceOf(rapid.StringMatching(`[a-zµ…]{1,9}`))

// No word is lost, and no line is wider than it may be.
func TestParagraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(words.Draw(t, "words"), " ")
		prefix := rapid.StringMatching(`[ *]{0,8}`).Draw(t, "prefix")
		width := rapid.IntRange(20, 80).Draw(t, "width")
		var b strings.Builder
		Paragraph(&b, width, prefix, text)
		got := b.String()
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Fatalf("%d columns of %d: %q", n, width, line)
			}
		}
		if all := strings.Join(strings.Fields(strings.TrimPrefix(got, strings.TrimRight(prefix, " "))), " "); all != text && strings.TrimLeft(prefix, " ") == "" {
			t.Fatalf("%q became %q", text, all)
		}
	})
}

func TestColumns(t *testing.T) {
	rows := [][]string{
		{"#", "workload", "before", "change", "verdict"},
		{"1", "pingpong", "1,234,567", "+44.3 %", "undecided: one figure a side carries no spread; this boot only"},
		{"10", "fanin", "99", "-", "same"},
	}
	for width, want := range map[int]string{
		74: `
   #  workload     before   change  verdict
   1  pingpong  1,234,567  +44.3 %  undecided: one figure a side carries
                                    no spread; this boot only
  10  fanin            99        -  same
`,
		60: `
   #  workload     before   change  verdict
   1  pingpong  1,234,567  +44.3 %  undecided:
      one figure a side carries no spread; this boot only
  10  fanin            99        -  same
`,
	} {
		var b strings.Builder
		Columns(&b, width, "  ", rows)
		if got := "\n" + b.String(); got != want {
			t.Errorf("%d columns: got%swant%s", width, got, want)
		}
	}
}
