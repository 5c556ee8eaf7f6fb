package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"udsbench/compare"
	"udsbench/importer"
	"udsbench/journal"
	"udsbench/series"
)

const compareLong = `Sets two or more sides against each other, cell by cell, and says of each
faster, slower, same, undecided or failed, with an interval and with the reason
where the data give one.

A side is a session directory, a directory that holds sessions (a campaign's
boots), or a file: super-smack or sysbench output, ministat columns, Go
benchmark format, CSV, records. Several are joined by commas, and a name may
stand before them: patched=boot2,boot4. Each side is set against the first.

A session by --paired or --ab-self has its sides in it. With any other alone and
--factor, the factor's levels are the sides: a field of the
cell (model, placement, htt, …) or of the environment (kernel, scheduler, smt,
governor, or any path of environment.json, as sched.name). Several factors give
a table of main effects.

Exit status: 0 done; 1 a cell failed, or what --fail-on names was found; 2 wrong
usage; 3 undecided under --fail-on slower. With --bisect: 0 not slower, 1 slower,
125 undecided, failed or unusable, as git bisect run wants it.`

// compareFlags is the command line of compare.
type compareFlags struct {
	factors   []string
	threshold string
	unit      string
	discard   string
	metrics   []string
	where     []string
	failOn    []string
	bisect    bool
	explain   string
	self      bool
	splits    int
	seed      uint64
	asJSON    bool
	in        importFlags
}

func compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A B [C…]",
		Short: "Verdicts, cell by cell: faster, slower, same, undecided, failed",
		Long:  compareLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.run(cmd, args)
			var exit *exitError
			if err != nil && f.bisect && !errors.As(err, &exit) {
				// Any other status would tell git that this kernel is bad.
				return &exitError{compare.StatusSkip, err}
			}
			return err
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if slices.Contains(os.Args, "--bisect") {
			return &exitError{compare.StatusSkip, err}
		}
		return err
	})
	fs := c.Flags()
	fs.StringArrayVar(&f.factors, "factor", nil, "what is meant to differ: NAME, NAME,NAME or NAME=LEVEL,LEVEL (the first level is what the others are set against)")
	fs.StringVar(&f.threshold, "threshold", "2%", "changes surely smaller than this are the same")
	fs.StringVar(&f.unit, "unit", "", "what counts once: boot or run (default: boot where the sides are different boots)")
	fs.StringVar(&f.discard, "discard", "auto", "first runs of each cell and boot to leave out, or auto: the start-up that is found")
	fs.StringSliceVar(&f.metrics, "metric", []string{series.Throughput.Name}, "figures to compare: ops_per_s, mean, p50, p90, p99, p999")
	fs.StringArrayVar(&f.where, "where", nil, "only cells with FIELD=VALUE or FIELD=V1,V2")
	fs.StringSliceVar(&f.failOn, "fail-on", nil, "exit with 1 where a cell is slower, undecided, or either")
	fs.BoolVar(&f.bisect, "bisect", false, "exit as git bisect run wants it")
	fs.StringVar(&f.explain, "explain", "", "every step for one cell: its number in the table, or part of its name")
	fs.BoolVar(&f.self, "self", false, "one session against itself: false alarms, and the smallest change it would have found")
	fs.IntVar(&f.splits, "splits", 1000, "random splits of --self")
	fs.Uint64Var(&f.seed, "seed", 1, "of the random splits of --self")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object a cell")
	f.in.register(fs)
	return c
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	in, err := f.input()
	if err != nil {
		return err
	}
	if err := f.checkSelf(); err != nil {
		return err
	}
	var all [][]compare.Source
	var names []string
	var seen []os.FileInfo
	for _, a := range args {
		name, paths := sideOf(a)
		if seen, err = namedOnce(seen, paths); err != nil {
			return err
		}
		sources, err := f.sources(paths)
		if err != nil {
			return err
		}
		names, all = append(names, name), append(all, sources)
	}
	out := cmd.OutOrStdout()
	if len(args) == 1 && len(f.factors) == 0 && !f.self {
		if paired := compare.PairedFactor(all[0]); paired != "" {
			f.factors = []string{paired} // run --paired has said what the sides are
		}
	}
	switch {
	case f.self:
		if len(args) != 1 {
			return fmt.Errorf("--self takes one session, not %d", len(args))
		}
		r, err := compare.Self(compare.SideOf(names[0], all[0]), in, f.splits, f.seed)
		if err != nil {
			return err
		}
		if f.asJSON {
			return r.WriteJSON(out)
		}
		return r.WriteTable(out, terminalWidth(tableWidth))
	case len(args) == 0:
		return errors.New("compare needs two sessions (A B), or one and --factor or --self")
	case len(args) == 1 && len(f.factors) == 0:
		if s, err := journal.Read(args[0]); err == nil && s.Plan.ABSelf {
			in.Sides, in.Unit, in.Together = abSides(s.Plan, all[0][0].Runs), compare.UnitRun, true
			return f.compare(cmd, in)
		}
		return fmt.Errorf("one side alone: name a second one, or what to set against each other in it with --factor, or --self")
	case len(args) == 1:
		return f.byFactor(cmd, in, all[0])
	}
	for i, sources := range all {
		in.Sides = append(in.Sides, compare.SideOf(names[i], sources))
	}
	for _, a := range f.factors {
		name, _, _ := strings.Cut(a, "=")
		in.Factors = append(in.Factors, strings.Split(name, ",")...)
	}
	return f.compare(cmd, in)
}

// checkSelf refuses beside --self what asks for verdicts: there are none.
func (f *compareFlags) checkSelf() error {
	for flag, given := range map[string]bool{"bisect": f.bisect, "fail-on": len(f.failOn) > 0, "explain": f.explain != "", "factor": len(f.factors) > 0} {
		if f.self && given {
			return fmt.Errorf("--self gives no verdicts: leave --%s out", flag)
		}
	}
	if f.explain != "" && f.asJSON {
		return errors.New("--explain is text: leave --json out, or read the reasons in it")
	}
	return nil
}

func (f *compareFlags) compare(cmd *cobra.Command, in compare.Input) error {
	r, err := compare.Compare(in)
	if err != nil {
		return err
	}
	return f.finish(cmd, r)
}

// byFactor makes the sides of one pool from a factor's levels.
func (f *compareFlags) byFactor(cmd *cobra.Command, in compare.Input, sources []compare.Source) error {
	type factor struct {
		name   string
		levels []string
	}
	var factors []factor
	var names []string
	for _, a := range f.factors {
		list, given, has := strings.Cut(a, "=")
		for _, name := range strings.Split(list, ",") {
			factors, names = append(factors, factor{name: name}), append(names, name)
		}
		if has { // the levels are the last one's
			factors[len(factors)-1].levels = strings.Split(given, ",")
		}
	}
	if len(names) > 1 {
		sources = compare.Attach(sources, names)
	}
	var effects []compare.Effect
	var last *compare.Result
	for _, one := range factors {
		sides, err := compare.Split(sources, one.name, one.levels)
		if err != nil {
			return err
		}
		in.Sides, in.Factors, in.Together = sides, []string{one.name}, true
		if last, err = compare.Compare(in); err != nil {
			return err
		}
		effects = append(effects, compare.Effects(one.name, last)...)
	}
	out := cmd.OutOrStdout()
	if len(names) > 1 {
		if f.bisect || len(f.failOn) > 0 || f.explain != "" {
			return errors.New("--bisect, --fail-on and --explain take one factor: main effects are no verdicts")
		}
		if f.asJSON {
			return compare.WriteEffectsJSON(out, effects)
		}
		return compare.WriteEffects(out, effects, terminalWidth(tableWidth))
	}
	if err := f.finish(cmd, last); err != nil || f.asJSON || f.explain != "" {
		return err
	}
	if len(effects) > 0 && effects[0].Cells > 1 {
		fmt.Fprintln(out)
		return compare.WriteEffects(out, effects, terminalWidth(tableWidth))
	}
	return nil
}

// finish prints the result and gives its exit status.
func (f *compareFlags) finish(cmd *cobra.Command, r *compare.Result) error {
	out := cmd.OutOrStdout()
	var err error
	switch {
	case f.explain != "":
		var c *compare.Cell
		if c, err = r.Find(f.explain); err == nil {
			err = r.Explain(out, c, terminalWidth(tableWidth))
		}
	case f.asJSON:
		for _, n := range slices.Concat(r.Notes, r.Warnings) {
			fmt.Fprintln(cmd.ErrOrStderr(), n)
		}
		err = r.WriteJSON(out)
	default:
		err = r.WriteTable(out, terminalWidth(tableWidth))
	}
	if err != nil {
		return err
	}
	status := r.Status(f.failOn)
	if f.bisect {
		status = r.Bisect()
	}
	if status != compare.StatusDone {
		return &exitError{status: status}
	}
	return nil
}

func (f *compareFlags) input() (compare.Input, error) {
	in := compare.Input{Unit: f.unit, Discard: series.Auto}
	text, isPercent := strings.CutSuffix(strings.TrimSpace(f.threshold), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1) {
		return in, fmt.Errorf("--threshold %s: give a share from 0 to under 1, as 2%% or 0.02", f.threshold)
	}
	in.Threshold = v
	if f.discard != "auto" {
		if in.Discard, err = strconv.Atoi(f.discard); err != nil || in.Discard < 0 {
			return in, fmt.Errorf("--discard %s: give a number of runs, or auto", f.discard)
		}
	}
	for _, name := range f.metrics {
		m, err := series.MetricOf(name)
		if err != nil {
			return in, fmt.Errorf("--metric: %w", err)
		}
		in.Metrics = append(in.Metrics, m)
	}
	return in, compare.CheckFailOn(f.failOn)
}

// sideOf reads one argument: PATH,PATH or NAME=PATH,PATH.
func sideOf(arg string) (name string, paths []string) {
	if _, err := os.Stat(arg); err == nil {
		return arg, []string{arg}
	}
	name, list, named := strings.Cut(arg, "=")
	if !named {
		name, list = arg, arg
	}
	return name, strings.Split(list, ",")
}

// namedOnce refuses a path that was seen before, by whatever name.
func namedOnce(seen []os.FileInfo, paths []string) ([]os.FileInfo, error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			continue // said where it is opened
		}
		if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
			return nil, fmt.Errorf("%s is named twice: a session is set against itself with --self", p)
		}
		seen = append(seen, info)
	}
	return seen, nil
}

// sources opens the paths of one side.
func (f *compareFlags) sources(paths []string) (all []compare.Source, err error) {
	where, err := fieldValues("where", f.where)
	if err != nil {
		return nil, err
	}
	o, err := f.in.options()
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		sets, err := importer.Open(p, o)
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			src := compare.Source{Name: s.Name, Runs: s.Runs, Cells: s.Cells, Lost: s.Lost, Notes: s.Notes}
			if s.Environment != nil {
				if src.Environment, err = compare.Flatten(s.Environment); err != nil {
					return nil, fmt.Errorf("%s: %w", p, err)
				}
			}
			all = append(all, src)
		}
	}
	if all, err = compare.Only(all, where); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, ","), err)
	}
	for i := range all {
		all[i].Locks = compare.LocksOf(all[i].Runs)
	}
	return all, nil
}

// fieldValues reads NAME=V1,V2, repeated.
func fieldValues(flag string, texts []string) (map[string][]string, error) {
	m := map[string][]string{}
	for _, t := range texts {
		name, values, ok := strings.Cut(t, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--%s %s: write FIELD=VALUE", flag, t)
		}
		m[name] = append(m[name], strings.Split(values, ",")...)
	}
	return m, nil
}
