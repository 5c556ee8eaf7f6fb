// Command alarms counts, on this machine and with real runs, how often a
// verdict errs: sessions against themselves, where nothing may be found, and
// against a server with more work, where it has to be.
//
//	alarms -udsbench FILE [-times N] [-runs N] [-only ab-self,slow,paired]
//
// The exit status is 1 where more than one in twenty sessions against
// themselves raise an alarm, or too few slow-downs are found (16 in 20 of what
// compare --self promises with 90 % probability, 18 in 20 of 2 % by turns).
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"udsbench/journal"
)

// echo is a ping-pong whose server has work that can be made a little more.
const echo = "# A ping-pong with some work of the server's.\nexchange echo\n  request 64\n  response 64\n  work 5000\n"

const work = 5000 // ns, before

// verdict is what is read of a line of compare --json.
type verdict struct {
	Ratio   float64    `json:"ratio"`
	CI      [2]float64 `json:"ci"`
	P       float64    `json:"p_adjusted"`
	Verdict string     `json:"verdict"`
	Like    *float64   `json:"found_like"` // of compare --self
	Unknown string     `json:"unknown"`
	Before  struct {
		Median float64 `json:"median"`
	} `json:"before"`
}

// moved is whether the two sides were told apart, by however little.
func (v verdict) moved() bool { return v.P < 0.05 && (v.CI[0] > 1 || v.CI[1] < 1) }

type trial struct {
	exe, dir string
	times    int
	runs     int // of each cell and side, of the quick suite
	failed   bool
}

// session measures into a new directory and gives its path.
func (t *trial) session(args ...string) (string, error) {
	dir, err := os.MkdirTemp(t.dir, "session-")
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "s")
	_, err = t.udsbench(append([]string{"run", "--out", dir}, args...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		// Runs that failed have no figure; the others are compared all the same.
		fmt.Println("        some runs failed:", err)
		if s, err := journal.Read(dir); err == nil {
			for _, r := range s.Runs {
				if r.Error != nil {
					fmt.Printf("        %s N=%d: %v\n", r.Cell.Workload, r.Cell.Parallel, r.Error)
				}
			}
		}
		err = nil
	}
	return dir, err
}

func (t *trial) udsbench(args ...string) ([]byte, error) {
	c := exec.Command(t.exe, args...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("udsbench %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return out.Bytes(), nil
}

func (t *trial) compare(args ...string) (all []verdict, err error) {
	out, err := t.udsbench(append([]string{"compare", "--json"}, args...)...)
	if err != nil && len(out) == 0 { // a cell that failed makes the status 1
		return nil, err
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		var v verdict
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("compare --json: %w in %s", err, s.Text())
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, errors.New("compare --json said nothing")
	}
	return all, nil
}

// check prints a count and keeps whether it is as it must be.
func (t *trial) check(ok bool, format string, args ...any) {
	word := "ok"
	if !ok {
		word, t.failed = "NOT MET", true
	}
	fmt.Printf("%-8s%s\n", word, fmt.Sprintf(format, args...))
}

// share is n of every 20 repetitions, rounded down.
func (t *trial) share(n int) int { return n * t.times / 20 }

// abSelf: the quick suite against itself by whole runs.
func (t *trial) abSelf() error {
	alarms, words := 0, map[string]int{}
	for i := range t.times {
		s, err := t.session("--suite", "quick", "--ab-self", "--runs", strconv.Itoa(t.runs), "--seed", strconv.Itoa(i+1))
		if err != nil {
			return err
		}
		all, err := t.compare(s)
		if err != nil {
			return err
		}
		alarm := false
		for _, v := range all {
			words[v.Verdict]++
			alarm = alarm || v.Verdict == "faster" || v.Verdict == "slower"
		}
		if alarm {
			alarms++
			fmt.Printf("        alarm in repetition %d: %+v\n", i+1, all)
		}
	}
	t.check(alarms <= max(1, t.share(1)), "quick suite against itself, %d whole runs a side: %d alarms in %d (words of cells: %v)", t.runs, alarms, t.times, words)
	return nil
}

// cell gives the arguments of a cell of echo with each of the amounts of work.
func (t *trial) cell(n int, works ...int) []string {
	place := "free"
	if n == 1 {
		place = "same-cpu"
	}
	list := make([]string, len(works))
	for i, w := range works {
		list[i] = strconv.Itoa(w)
	}
	return []string{"--workload", "profile:" + filepath.Join(t.dir, "echo.profile"), "--placement", place,
		"--parallel", strconv.Itoa(n), "--param", "work=" + strings.Join(list, ",")}
}

// slow: what compare --self says is found with 90 % probability, by whole runs.
func (t *trial) slow() error {
	for _, n := range []int{1, 10, 100} {
		base, err := t.session(append(t.cell(n, work), "--runs", "20", "--window", "300ms", "--warmup", "100ms")...)
		if err != nil {
			return err
		}
		self, err := t.compare("--self", base)
		if err != nil {
			return err
		}
		if self[0].Like == nil {
			return fmt.Errorf("compare --self promises nothing: %s", self[0].Unknown)
		}
		pair, err := t.session(append(t.cell(n, work, 2*work), "--runs", "10", "--window", "300ms", "--warmup", "100ms")...)
		if err != nil {
			return err
		}
		known, err := t.compare(pair, "--factor", "work")
		if err != nil {
			return err
		}
		// The change is set by what twice the work did here, on the scale of time.
		promised := *self[0].Like
		cost := (1/known[0].Ratio - 1) / work // share of an operation's time, a ns
		w := work + int(math.Round(promised/(1-promised)/cost))
		found := 0
		var seen []float64
		for i := range t.times {
			s, err := t.session(append(t.cell(n, work, w), "--runs", "20", "--window", "300ms", "--warmup", "100ms", "--seed", strconv.Itoa(i+1))...)
			if err != nil {
				return err
			}
			v, err := t.compare(s, "--factor", "work")
			if err != nil {
				return err
			}
			seen = append(seen, v[0].Ratio-1)
			if v[0].Verdict == "slower" {
				found++
			}
		}
		slices.Sort(seen)
		t.check(found >= t.share(16), "echo N=%d, %d ns of work against %d: --self promises that -%.1f %% is found; found in %d of %d (changes seen %+.1f to %+.1f %%, median %+.1f %%)",
			n, work, w, 100*promised, found, t.times, 100*seen[0], 100*seen[len(seen)-1], 100*seen[len(seen)/2])
	}
	return nil
}

// paired: A/A and 2 %, by turns on one CPU.
func (t *trial) paired() error {
	settings := []string{"--runs", "6", "--window", "1s", "--warmup", "100ms"}
	var rate float64
	alarms, widest := 0, 0.0
	for i := range t.times {
		s, err := t.session(slices.Concat(t.cell(1, work), []string{"--paired", "nothing", "--seed", strconv.Itoa(i + 1)}, settings)...)
		if err != nil {
			return err
		}
		v, err := t.compare(s)
		if err != nil {
			return err
		}
		rate = v[0].Before.Median
		widest = max(widest, (v[0].CI[1]-v[0].CI[0])/2)
		if v[0].Verdict == "faster" || v[0].Verdict == "slower" {
			alarms++
			fmt.Printf("        alarm in repetition %d: %+v\n", i+1, v[0])
		}
	}
	t.check(alarms == 0, "A/A by turns: %d alarms in %d (widest interval ±%.2f %%)", alarms, t.times, 100*widest)
	// 2 % of an operation's time, of which a round trip on one CPU is the sum.
	w := work + int(math.Round(1e9/rate*0.02))
	found, words := 0, map[string]int{}
	var seen []float64
	for i := range t.times {
		s, err := t.session(slices.Concat(t.cell(1, work, w), []string{"--paired", "work", "--seed", strconv.Itoa(i + 1)}, settings)...)
		if err != nil {
			return err
		}
		v, err := t.compare(s, "--threshold", "1%")
		if err != nil {
			return err
		}
		words[v[0].Verdict]++
		seen = append(seen, v[0].Ratio-1)
		if v[0].Verdict == "slower" {
			found++
		}
	}
	slices.Sort(seen)
	t.check(found >= t.share(18), "%d ns of work against %d by turns (2 %% of an operation), threshold 1 %%: found in %d of %d (changes seen %+.2f to %+.2f %%; %v)",
		work, w, found, t.times, 100*seen[0], 100*seen[len(seen)-1], words)
	return nil
}

func main() {
	exe := flag.String("udsbench", "", "the udsbench binary")
	times := flag.Int("times", 20, "repetitions")
	runs := flag.Int("runs", 6, "runs of each cell of the quick suite, a side")
	only := flag.String("only", "ab-self,slow,paired", "what to count")
	flag.Parse()
	dir, err := os.MkdirTemp("", "udsbench-alarms-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.WriteFile(filepath.Join(dir, "echo.profile"), []byte(echo), 0o600)
	}
	t := &trial{exe: *exe, dir: dir, times: *times, runs: *runs}
	for _, name := range strings.Split(*only, ",") {
		part := map[string]func() error{"ab-self": t.abSelf, "slow": t.slow, "paired": t.paired}[name]
		if part == nil {
			err = fmt.Errorf("-only %s: ab-self, slow or paired", name)
		}
		if err == nil {
			err = part()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alarms:", err)
		os.RemoveAll(dir)
		os.Exit(2)
	}
	if t.failed {
		os.RemoveAll(dir)
		os.Exit(1)
	}
}
