package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"udsbench/record"
)

// Our own records, one a line: runs.jsonl, or what `run --json` and `import`
// print.
func isRecords(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

func readRecords(s *Set, text []byte, _ Options) error {
	d := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var line json.RawMessage
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		var l record.Line
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		if l.Schema < 1 || l.Schema > record.Schema {
			return fmt.Errorf("record %d has schema %d: this version reads up to %d", n, l.Schema, record.Schema)
		}
		if l.Lost != nil {
			s.Lost = append(s.Lost, *l.Lost)
			continue
		}
		r := *l.Run
		if r.Status != record.OK && r.Status != record.Failed {
			return fmt.Errorf("record %d has status %q: it is no run", n, r.Status)
		}
		if r.OpsPerS != nil && (r.Status == record.Failed || *r.OpsPerS <= 0) {
			return fmt.Errorf("record %d: a run that is %s cannot have %g operations a second", n, r.Status, *r.OpsPerS)
		}
		if r.Boot == "" { // imported before: what was known of it then is known still
			for _, w := range r.Warnings {
				s.note(w)
			}
		}
		s.Runs = append(s.Runs, r)
	}
}
