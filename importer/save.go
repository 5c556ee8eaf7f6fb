package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"udsbench/journal"
	"udsbench/plan"
	"udsbench/record"
)

// Save keeps sets as one session in the directory dir, as journal.Create makes
// it ("" for a name by now), and gives the directory. Its environment says what
// it was made of, and that nothing else is known; its plan, that it was
// imported. Where it is made of several files, the parameter file tells their
// cells apart. A session's own records are refused: they are a session.
func Save(dir string, now time.Time, sets []Set) (string, error) {
	env := environment{Schema: 1, Unavailable: map[string]string{}}
	var runs []record.Run
	var lost []record.LostBoot
	for _, s := range sets {
		if s.Environment != nil {
			return "", fmt.Errorf("%s is a session already: compare and export read it as it is", s.Name)
		}
		from := source{Name: s.Name, Format: s.Format, Runs: len(s.Runs), Notes: s.Notes}
		env.Imported = append(env.Imported, from)
		runs, lost = append(runs, s.Runs...), append(lost, s.Lost...)
	}
	boots := map[string]bool{}
	for i := range runs {
		boots[runs[i].Boot] = true
	}
	if len(boots) == 1 {
		env.BootID = runs[0].Boot
	}
	for _, name := range []string{"kernel", "cpu", "clock", "virtual", "sched", "limits", "sysctl", "load", "host", "udsbench"} {
		env.Unavailable[name] = notKnown
	}
	if env.BootID == "" {
		env.Unavailable["boot_id"] = notKnown
	}
	renumber(runs)
	return journal.Write(dir, now, env, plan.Imported(runs), runs, lost)
}

const notKnown = "imported: what was imported does not say it"

// environment is what environment.json holds of imported results.
type environment struct {
	Schema      int               `json:"schema"`
	BootID      string            `json:"boot_id,omitempty"`
	Imported    []source          `json:"imported"`
	Unavailable map[string]string `json:"unavailable"`
}

type source struct {
	Name   string   `json:"name"`
	Format string   `json:"format"`
	Runs   int      `json:"runs"`
	Notes  []string `json:"notes,omitempty"`
}

// renumber gives runs of several files and sessions numbers and blocks that are
// theirs alone, in the order in which they were run.
func renumber(runs []record.Run) {
	session := map[string]int{}
	for i := range runs {
		if _, ok := session[runs[i].Session]; !ok {
			session[runs[i].Session] = len(session)
		}
	}
	slices.SortStableFunc(runs, func(a, b record.Run) int {
		return cmp.Or(cmp.Compare(session[a.Session], session[b.Session]), cmp.Compare(a.Seq, b.Seq))
	})
	type block struct {
		session, boot string
		block         int
	}
	blocks := map[block]int{}
	for i := range runs {
		r := &runs[i]
		k := block{r.Session, r.Boot, r.Block}
		if r.Boot == "" && r.Block == 0 {
			k = block{} // there are no blocks
		}
		n, ok := blocks[k]
		if !ok {
			n = len(blocks)
			blocks[k] = n
		}
		r.Seq, r.Block = i, n
	}
}

// Name tells the cells of several files apart by a parameter, file; those that
// name their boots are sessions' own, and are told apart by these.
func Name(sets []Set) {
	if len(sets) < 2 {
		return
	}
	for i := range sets {
		for j := range sets[i].Runs {
			if r := &sets[i].Runs[j]; r.Boot == "" {
				r.Cell.Params = maps.Clone(r.Cell.Params)
				r.Cell.Params["file"] = sets[i].Name
			}
		}
	}
}
