package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// LostBoot is a boot of a campaign that ended before its runs did: the machine
// panicked, hung or never came up. It has no figure.
type LostBoot struct {
	Boot   string `json:"boot"`
	Kernel string `json:"kernel"`         // the fingerprint of the kernel that was booted
	Seq    *int   `json:"seq,omitempty"`  // of the run in flight; absent where none was
	Cell   *Cell  `json:"cell,omitempty"` // of that run
}

// Line is one line of runs.jsonl: either a run or a boot that was lost.
type Line struct {
	Schema int
	Run    *Run
	Lost   *LostBoot
}

// MarshalJSON writes either kind.
func (l Line) MarshalJSON() ([]byte, error) {
	if l.Lost == nil {
		return json.Marshal(l.Run)
	}
	return json.Marshal(struct {
		Schema int       `json:"schema"`
		Lost   *LostBoot `json:"lost"`
	}{l.Schema, l.Lost})
}

// UnmarshalJSON reads either kind. Sessions written before boots were lost had
// the number of lost messages under the same name.
func (l *Line) UnmarshalJSON(text []byte) error {
	var either struct {
		Run
		Lost json.RawMessage `json:"lost"`
	}
	if err := json.Unmarshal(text, &either); err != nil {
		return err
	}
	*l = Line{Schema: either.Schema}
	switch lost := bytes.TrimSpace(either.Lost); {
	case len(lost) > 0 && lost[0] == '{':
		l.Lost = &LostBoot{}
		if err := json.Unmarshal(lost, l.Lost); err != nil {
			return fmt.Errorf("lost: %w", err)
		}
		return nil
	case len(lost) > 0 && either.LostMessages == nil:
		if err := json.Unmarshal(lost, &either.LostMessages); err != nil {
			return fmt.Errorf("lost: %w", err)
		}
	}
	l.Run = &either.Run
	return nil
}
