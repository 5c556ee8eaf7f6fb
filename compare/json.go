package compare

import (
	"encoding/json"
	"io"
	"math"

	"udsbench/record"
	"udsbench/series"
)

// The records that `compare --json` prints, one for each cell. An absent
// figure is absent, and Unavailable says why.
type (
	cellJSON struct {
		Cell     record.Cell `json:"cell"`
		Metric   string      `json:"metric"`
		Sides    [2]string   `json:"sides"`
		Unit     string      `json:"unit"`
		Only     string      `json:"only,omitempty"` // what every word is limited to
		Before   sideJSON    `json:"before"`
		After    sideJSON    `json:"after"`
		Ratio    *float64    `json:"ratio,omitempty"`
		CI       []float64   `json:"ci,omitempty"` // 95 %
		P        *float64    `json:"p,omitempty"`
		Adjusted *float64    `json:"p_adjusted,omitempty"`
		RankP    *float64    `json:"p_rank,omitempty"`
		Verdict  Verdict     `json:"verdict"`
		Notes    []string    `json:"notes,omitempty"`
		Need     *Need       `json:"need"`
		Reasons  []Reason    `json:"reasons"`
		Trimmed  *trimJSON   `json:"without_outliers,omitempty"`

		Confounders []string          `json:"confounders,omitempty"`
		Unavailable map[string]string `json:"unavailable,omitempty"`
	}
	sideJSON struct {
		N         int      `json:"n"` // runs that the figures are made of
		Boots     int      `json:"boots"`
		Median    *float64 `json:"median,omitempty"` // of those runs
		Mean      *float64 `json:"mean,omitempty"`   // geometric, of the units: what ratio is made of
		Failed    int      `json:"failed"`
		Discarded int      `json:"discarded"`            // as start-up
		LostBoots int      `json:"lost_boots,omitempty"` // of the side, in all cells
	}
	trimJSON struct {
		Outliers int       `json:"outliers"`
		Ratio    float64   `json:"ratio"`
		CI       []float64 `json:"ci"`
	}
	effectJSON struct {
		Factor  string    `json:"factor"`
		Metric  string    `json:"metric"`
		Levels  [2]string `json:"levels"`
		Ratio   float64   `json:"ratio"`
		CI      []float64 `json:"ci,omitempty"`
		Cells   int       `json:"cells"`
		Missing int       `json:"missing"`
		Only    string    `json:"only,omitempty"`
	}
)

// WriteJSON prints one object a line for each cell.
func (r *Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, c := range r.Cells() {
		j := c.json()
		for _, x := range r.Confounders {
			if x.Before == c.Pair.Before && x.After == c.Pair.After {
				j.Confounders = append(j.Confounders, x.Text)
			}
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cell) json() *cellJSON {
	j := &cellJSON{Cell: c.Cell, Metric: c.Metric.Name, Sides: [2]string{c.Pair.Before, c.Pair.After},
		Unit: c.Pair.Unit, Only: c.Pair.Only, Before: c.Before.json(), After: c.After.json(),
		Ratio: number(c.Ratio), Adjusted: number(c.Adjusted), RankP: number(c.Rank),
		Verdict: c.Verdict, Notes: c.Notes, Need: c.Need, Reasons: c.Reasons, Unavailable: map[string]string{}}
	j.Before.LostBoots, j.After.LostBoots = c.Pair.lost[0], c.Pair.lost[1]
	if j.Reasons == nil {
		j.Reasons = []Reason{}
	}
	if c.Diff != nil {
		_, lo, hi := c.Diff.Ratio()
		j.CI, j.P = []float64{lo, hi}, number(c.Diff.P)
		if c.Diff.exact() {
			j.CI, j.P = nil, nil
		}
	}
	why := "a side has no usable runs"
	switch {
	case c.Verdict == FailedCell:
		j.Unavailable["ratio"] = why
	case c.Need != nil && c.Need.Why != "":
		why = c.Need.Why
	}
	if j.CI == nil {
		for _, name := range []string{"ci", "p", "p_adjusted"} {
			j.Unavailable[name] = why
		}
	}
	if j.RankP == nil {
		j.Unavailable["p_rank"] = "a side has fewer than two units, or no pair differs"
	}
	if c.Trimmed != nil {
		ratio, lo, hi := c.Trimmed.Ratio()
		j.Trimmed = &trimJSON{c.Outliers, ratio, []float64{lo, hi}}
	}
	return j
}

func (s *Sample) json() sideJSON {
	vs := s.Values()
	return sideJSON{N: len(vs), Boots: s.Boots, Median: number(series.Describe(vs).Median), Mean: number(s.center()), Failed: s.Failed, Discarded: s.Discarded}
}

// WriteEffectsJSON prints one object a line for each main effect.
func WriteEffectsJSON(w io.Writer, effects []Effect) error {
	enc := json.NewEncoder(w)
	for _, e := range effects {
		j := effectJSON{Factor: e.Factor, Metric: e.Metric.Name, Levels: [2]string{e.Before, e.After}, Ratio: math.Exp(e.Log), Cells: e.Cells, Missing: e.Missing, Only: e.Only}
		if e.Diff != nil {
			_, lo, hi := e.Diff.Ratio()
			j.CI = []float64{lo, hi}
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}

type selfJSON struct {
	Cell        record.Cell       `json:"cell"`
	Metric      string            `json:"metric"`
	Unit        string            `json:"unit"`
	Units       int               `json:"units"`
	Splits      int               `json:"splits"`
	SplitAlarms int               `json:"split_alarms"` // splits in which any cell raised one
	Alarms      int               `json:"alarms"`       // splits in which this cell did
	FoundHalf   *float64          `json:"found_half,omitempty"`
	FoundLike   *float64          `json:"found_like,omitempty"`
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// WriteJSON prints one object a line for each cell.
func (r *SelfResult) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, c := range r.Cells {
		j := selfJSON{Cell: c.Cell.Cell, Metric: c.Cell.Metric.Name, Unit: r.Unit, Units: c.Units, Splits: r.Splits,
			SplitAlarms: r.Alarms, Alarms: c.Alarms, FoundHalf: number(c.Half), FoundLike: number(c.Like)}
		if c.Unknown != "" {
			j.Unavailable = map[string]string{"found_half": c.Unknown, "found_like": c.Unknown}
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}

// number is nil for what JSON has no number for.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
