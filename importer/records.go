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
		// A boot that a campaign lost has a line of its own; in a run, lost is a number.
		var lost struct {
			Lost struct{ Boot, Kernel string }
		}
		if json.Unmarshal(line, &lost) == nil && lost.Lost.Boot != "" {
			s.note(fmt.Sprintf("boot %s of kernel %s was lost", lost.Lost.Boot, lost.Lost.Kernel))
			continue
		}
		var r record.Run
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		if r.Schema < 1 || r.Schema > record.Schema {
			return fmt.Errorf("record %d has schema %d: this version reads up to %d", n, r.Schema, record.Schema)
		}
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
