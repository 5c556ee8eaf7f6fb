package compare

import "fmt"

// Exit statuses of compare.
const (
	StatusDone      = 0
	StatusFound     = 1   // a cell failed, or what --fail-on names was found
	StatusUndecided = 3   // undecided, under --fail-on slower
	StatusSkip      = 125 // under --bisect: this kernel cannot be judged
)

// CheckFailOn refuses what --fail-on does not know.
func CheckFailOn(words []string) error {
	for _, w := range words {
		if w != string(Slower) && w != string(Undecided) {
			return fmt.Errorf("--fail-on %s: there are slower and undecided", w)
		}
	}
	return nil
}

// Status is the exit status for scripts: failOn holds the words of --fail-on.
func (r *Result) Status(failOn []string) int {
	count := map[Verdict]int{}
	for _, c := range r.Cells() {
		count[c.Verdict]++
	}
	status := StatusDone
	if count[FailedCell] > 0 {
		status = StatusFound
	}
	slower := false
	for _, w := range failOn {
		if count[Verdict(w)] > 0 {
			status = StatusFound
		}
		slower = slower || w == string(Slower)
	}
	if status == StatusDone && slower && count[Undecided] > 0 {
		status = StatusUndecided
	}
	return status
}

// Bisect is the exit status for `git bisect run`: 0 not slower, 1 slower, 125
// where it cannot be said.
func (r *Result) Bisect() int {
	unsure := false
	for _, c := range r.Cells() {
		switch c.Verdict {
		case Slower:
			return StatusFound
		case Undecided, FailedCell:
			unsure = true
		}
	}
	if unsure {
		return StatusSkip
	}
	return StatusDone
}
