package importer

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// One number a line, as ministat reads it: the first column counts, # begins a
// comment. Each is one run, in order.
func isColumn(text []byte) bool {
	some := false
	for line := range strings.SplitSeq(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		for _, v := range f {
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				return false
			}
		}
		some = true
	}
	return some
}

func readColumn(s *Set, text []byte, _ Options) error {
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line, remark, _ := strings.Cut(sc.Text(), "#")
		s.note(remark)
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		v, err := rate(f[0])
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		s.add(emptyCell("column"), v).Missing("ops", "one number a run")
	}
	return sc.Err()
}
