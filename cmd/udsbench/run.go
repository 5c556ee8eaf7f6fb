package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"udsbench/compare"
	"udsbench/environ"
	"udsbench/janitor"
	"udsbench/journal"
	"udsbench/pingpong"
	"udsbench/plan"
	"udsbench/record"
	"udsbench/report"
	"udsbench/runner"
	"udsbench/sched"
	"udsbench/suite"
	"udsbench/topology"
)

// What a run takes beside warm-up and window, for estimates. A run corrects
// them as it goes.
const (
	perProcess = 4 * time.Millisecond
	perRun     = 60 * time.Millisecond
)

// tableWidth is how wide a table is where it is not known how wide it may be.
const tableWidth = 120

// listHelp says what each list flag takes.
var listHelp = map[string]string{
	"workload":     "kinds of exchange (udsbench list shows them)",
	"transport":    "unix-stream, unix-seqpacket, unix-dgram, tcp, pipe",
	"address":      "how peers meet: path, socketpair, abstract, inet, inet6",
	"parallel":     "clients that are active at once",
	"model":        "clients as process, thread or goroutine",
	"server-model": "servers as process, thread or goroutine",
	"one-process":  "both roles in one process: yes, no",
	"placement":    "which CPU each worker is pinned to (udsbench list, udsbench topology)",
	"policy":       "of the workers: " + sched.PolicyHelp,
	"nice-client":  "nice value of clients",
	"nice-server":  "nice value of servers",
	"request":      "bytes from client to server, as 64, 4k, 1MiB",
	"response":     "bytes from server to client",
	"clock":        "how operations are timed: none, vdso, syscall, tsc, every=N",
	"work-clock":   "a simulated server's own time calls for each exchange: N:vdso, N:syscall, 0",
	"full":         "what a datagram sender does about a full receiver: block, retry, yield, poll",
	"rate":         "open loop: operations a second in all, latency from the intended time",
}

var settingHelp = map[string]string{
	"runs":       "runs of each cell, in shuffled blocks",
	"discard":    "first runs of each cell that are recorded but left out of the table",
	"window":     "length of a measurement",
	"warmup":     "load before the window, at least",
	"slice":      "how often the counters are read in the window",
	"ops":        "end a run after so many operations a client, instead of a time",
	"seed":       "of the order of runs",
	"paired":     "a flag whose values take turns in short slices, all alive together (transport, model, …), or nothing for A/A",
	"instrument": "interleave runs that look at locks, sched, counters or all with the timed ones; with options: sched+stacks, locks+nostacks, locks+depth=N, locks+source=NAME (udsbench list explains them)",

	"idle-latency": "keep CPUs out of idle states that take longer to wake from, in µs (0: out of all)",
}

// runFlags is the command line of run.
type runFlags struct {
	lists    map[string]*string
	settings map[string]*string
	params   *[]string
	suite    string
	out      string
	resume   string
	abSelf   bool
	dryRun   bool
	json     bool
	explain  bool
}

func runCommand() *cobra.Command {
	f := runFlags{lists: map[string]*string{}, settings: map[string]*string{}}
	c := &cobra.Command{
		Use:   "run",
		Short: "Measure; print a table, write a session directory",
		Long: `Measure every combination of the lists given (comma separated), in shuffled
blocks of runs; print a table, and write a session directory with every record.

Exit status: 0 done; 1 a run failed; 2 wrong usage; 130 interrupted, with what
was finished being kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.suite, "suite", "", "a named set of lists, or the path of a file (default "+suite.Default+")")
	for _, name := range plan.ListFlags() {
		if help := listHelp[name]; help != "" {
			f.lists[name] = flags.String(name, "", help)
		}
	}
	f.params = flags.StringArray("param", nil, "NAME=V1,V2: what only some workloads have (udsbench list shows them), or a knob of the kernel as sched/NAME; may be repeated")
	for _, name := range plan.SettingFlags {
		f.settings[name] = flags.String(name, "", settingHelp[name])
	}
	flags.StringVar(&f.out, "out", "", "session directory (default udsbench-DATE-TIME)")
	flags.StringVar(&f.resume, "resume", "", "carry on with a session, where plan and kernel are the same")
	flags.BoolVar(&f.abSelf, "ab-self", false, "run each cell as A and as B and set the two against each other: nothing should be found")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and how long it takes, measure nothing")
	flags.BoolVar(&f.explain, "explain", false, "say under the table where the time of each cell's operations went (unasked for few cells)")
	flags.BoolVar(&f.json, "json", false, "print each record as one JSON line on standard output")
	return c
}

// catalogue adds to the workloads' own rules what depends on this machine.
type catalogue struct {
	pingpong.Catalogue
	machine *topology.Machine
}

func (c catalogue) Check(cell record.Cell) error {
	if err := c.Catalogue.Check(cell); err != nil {
		return err
	}
	if _, err := runner.Place(c.machine, cell); err != nil {
		// What is refused is named by whoever shows the reason.
		return errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("placement %q: ", cell.Placement)))
	}
	for name := range cell.Params {
		if strings.HasPrefix(name, sched.KnobPrefix) {
			if _, err := sched.FindKnob(name); err != nil {
				return err
			}
		}
	}
	return runner.ProbePolicy(cell)
}

// plan reads the flags into a plan. Its errors are wrong usage.
func (f *runFlags) plan(cmd *cobra.Command, machine *topology.Machine) (*plan.Plan, error) {
	in := plan.Input{Settings: plan.DefaultSettings()}
	for name, value := range f.lists {
		if cmd.Flags().Changed(name) {
			if err := in.Given.Set(name, *value); err != nil {
				return nil, err
			}
		}
	}
	for _, value := range *f.params {
		if err := in.Given.Set("param", value); err != nil {
			return nil, err
		}
	}
	if f.suite != "" || len(in.Given.Workload) == 0 {
		name := f.suite
		if name == "" {
			name = suite.Default
		}
		s, err := suite.Load(name)
		if err != nil {
			return nil, err
		}
		in.Suite = s.Products
		in.Settings = s.Settings(in.Settings)
	}
	for name, value := range f.settings {
		if cmd.Flags().Changed(name) {
			if err := in.Settings.Set(name, *value); err != nil {
				return nil, err
			}
		}
	}
	if in.Settings.Ops > 0 {
		for _, name := range []string{"window", "warmup", "slice"} {
			if cmd.Flags().Changed(name) {
				return nil, &plan.UsageError{Flag: name, Value: *f.settings[name], Why: "a run by --ops has no window of time: leave one of the two out"}
			}
		}
		in.Settings.Warmup = 0
	}
	in.Settings.ABSelf = f.abSelf
	var err error
	var ladder []plan.Rung
	if in.Given.Placement, ladder, err = expand(machine, in.Given.Placement); err != nil {
		return nil, err
	}
	for i := range in.Suite {
		var more []plan.Rung
		if in.Suite[i].Placement, more, err = expand(machine, in.Suite[i].Placement); err != nil {
			return nil, err
		}
		if len(in.Given.Placement) == 0 {
			ladder = append(ladder, more...)
		}
	}
	p, err := plan.Build(in, catalogue{machine: machine})
	if err != nil {
		return nil, err
	}
	p.Rungs = ladder
	if err := checkInstrument(p.Instrument, false); err != nil {
		return nil, err
	}
	for _, c := range p.Cells {
		if err := runner.CheckSlices(time.Duration(p.WindowNS), time.Duration(p.SliceNS)); err != nil && p.Ops == 0 {
			return nil, &plan.UsageError{Flag: "slice", Value: time.Duration(p.SliceNS).String(), Why: err.Error()}
		}
		if err := runner.CheckRate(c, time.Duration(p.WindowNS)); err != nil && p.Ops == 0 {
			return nil, &plan.UsageError{Flag: "rate", Value: c.Params["rate"], Why: err.Error()}
		}
		if err := runner.CheckLimits(c); err != nil {
			return nil, &plan.UsageError{Why: err.Error()}
		}
	}
	return p, nil
}

// expand replaces the presets among placements by the rungs that the machine
// has, and lists the rungs of each.
func expand(m *topology.Machine, placements []string) (all []string, ladder []plan.Rung, err error) {
	for _, name := range placements {
		wrong := func(err error) error {
			return &plan.UsageError{Flag: "placement", Value: name, Why: strings.TrimPrefix(err.Error(), fmt.Sprintf("placement %q: ", name))}
		}
		if err := topology.CheckName(name); err != nil {
			return nil, nil, wrong(err)
		}
		rungs, err := m.Expand(name)
		if err != nil {
			return nil, nil, wrong(err)
		}
		for _, r := range rungs {
			if r.Missing == "" {
				all = append(all, r.Placement)
			}
			if r.Label != name && name != "matrix" { // the matrix is drawn by distance
				step := plan.Rung{Preset: name, Label: r.Label, Missing: r.Missing}
				if r.Missing == "" {
					step.Placement = r.Placement
				}
				ladder = append(ladder, step)
			}
		}
	}
	return slices.Compact(all), ladder, nil
}

// rungs says in a line a preset what its rungs are on this machine.
func rungs(ladder []plan.Rung) (notes []string) {
	var presets []string
	lines := map[string][]string{}
	for _, r := range ladder {
		if lines[r.Preset] == nil {
			presets = append(presets, r.Preset)
		}
		text := r.Label + ": placement " + r.Placement
		if r.Missing != "" {
			text = r.Label + ": not here, " + r.Missing
		}
		lines[r.Preset] = append(lines[r.Preset], text)
	}
	for _, p := range presets {
		notes = append(notes, "rungs of "+p+": "+strings.Join(lines[p], "; "))
	}
	return notes
}

func (f *runFlags) run(cmd *cobra.Command) error {
	for name, value := range map[string]string{"suite": f.suite, "out": f.out, "resume": f.resume} {
		if value == "" && cmd.Flags().Changed(name) {
			return &plan.UsageError{Flag: name, Why: "is given and empty: name one, or leave the flag out"}
		}
	}
	machine, err := topology.Live()
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("topology: %w", err)}
	}
	var p *plan.Plan
	if f.resume == "" || f.askedFor(cmd) {
		if p, err = f.plan(cmd, machine); err != nil {
			return err
		}
	}
	if f.dryRun {
		if p == nil {
			return &plan.UsageError{Flag: "dry-run", Why: "--resume alone takes its plan from the session; give the session's flags again to see it"}
		}
		if f.json {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(p)
		}
		fmt.Fprint(cmd.OutOrStdout(), p.Text(perProcess, perRun))
		return nil
	}
	if err := janitor.Check(); err != nil {
		return err
	}
	exe, err := runner.Self()
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("this program's own file, to start workers from: %w", err)}
	}
	for _, dir := range janitor.Sweep() {
		fmt.Fprintf(os.Stderr, "udsbench: removed %s, which a killed run had left behind\n", dir)
	}
	if p != nil {
		if err := checkInstrument(p.Instrument, true); err != nil {
			return err
		}
		if param, value, err := runner.TryKnobs(exe, p.Cells); err != nil {
			return &plan.UsageError{Flag: "param " + param, Value: value, Why: err.Error()}
		}
	}
	hold, err := holdIdle(p)
	if err != nil {
		return err
	}
	env := environ.Gather("/", environ.Option{})
	j, err := f.journal(env, p)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer j.Close()
	if err := journal.ReadWorkers(j.Dir(), j.Earlier()); err != nil {
		return &exitError{exitFailed, err}
	}
	s := &session{
		journal: j, plan: j.Plan(), machine: machine, env: env, exe: exe,
		out: cmd.OutOrStdout(), json: f.json, explain: f.explain, runs: j.Earlier(),
		warnings: append(j.Warnings(), env.Warnings()...),
	}
	if err := checkInstrument(s.plan.Instrument, true); err != nil { // of a session that is carried on with
		return err
	}
	if hold == nil {
		if hold, err = holdIdle(s.plan); err != nil { // of a session that is carried on with
			return err
		}
	}
	if hold != nil {
		defer hold.Close()
		s.idle = &hold.US
	}
	return s.measure(cmd.Context())
}

// holdIdle keeps CPUs out of deep idle states while the session lasts; nil
// where the plan does not ask for it.
func holdIdle(p *plan.Plan) (*runner.IdleHold, error) {
	if p == nil || p.IdleLatency == "" {
		return nil, nil
	}
	us, err := strconv.Atoi(p.IdleLatency)
	if err != nil {
		return nil, &exitError{exitFailed, fmt.Errorf("plan: idle_latency_us %q is no number", p.IdleLatency)}
	}
	hold, err := runner.HoldIdleLatency(us)
	if err != nil {
		return nil, &plan.UsageError{Flag: "idle-latency", Value: p.IdleLatency, Why: err.Error()}
	}
	return hold, nil
}

// askedFor reports whether the command line names a plan.
func (f *runFlags) askedFor(cmd *cobra.Command) bool {
	if f.suite != "" || len(*f.params) > 0 {
		return true
	}
	for name := range f.lists {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	for name := range f.settings {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

func (f *runFlags) journal(env *environ.Environment, p *plan.Plan) (*journal.Journal, error) {
	if f.resume == "" {
		return journal.Create(f.out, time.Now(), env, p)
	}
	if f.out != "" {
		return nil, &plan.UsageError{Flag: "out", Value: f.out, Why: "--resume writes to the session that it carries on with: leave --out out"}
	}
	return journal.Open(f.resume, p, func(text json.RawMessage) error {
		var then environ.Environment
		if err := json.Unmarshal(text, &then); err != nil {
			return err
		}
		if then.Fingerprint() != env.Fingerprint() {
			return fmt.Errorf("its kernel is not this one (%s then, %s now): start a new session", then.Kernel.Release, env.Kernel.Release)
		}
		return nil
	})
}

// session is a plan being measured.
type session struct {
	journal  *journal.Journal
	plan     *plan.Plan
	machine  *topology.Machine
	env      *environ.Environment
	exe      string
	out      io.Writer
	json     bool
	explain  bool
	idle     *int64 // µs that --idle-latency holds
	runs     []record.Run
	warnings []string
}

func (s *session) measure(ctx context.Context) error {
	bar := newProgress(s.plan, len(s.runs))
	defer bar.done()
	interrupted := false
	for work := range s.plan.Work() {
		if !slices.ContainsFunc(work, func(l plan.Level) bool { return !s.journal.Done(l.Seq) }) {
			continue
		}
		bar.draw(s.plan.Cells[work[0].Cell])
		recs, err := s.together(ctx, work)
		if errors.Is(err, runner.ErrInterrupted) {
			interrupted = true
			break
		}
		if err != nil {
			return &exitError{exitFailed, err}
		}
		for i, rec := range recs {
			if s.journal.Done(work[i].Seq) {
				continue // of a set that was cut off between two records
			}
			if err := s.keep(rec, work[i].Step); err != nil {
				if ctx.Err() != nil {
					return s.finish(true)
				}
				return &exitError{exitFailed, err}
			}
			bar.finished()
		}
	}
	bar.done()
	return s.finish(interrupted)
}

// keep appends a record to the journal and prints it where records are printed.
func (s *session) keep(rec *record.Run, step plan.Step) error {
	rec.Seq, rec.Block, rec.Boot = step.Seq, step.Block, s.env.BootID
	if err := s.journal.Append(rec); err != nil {
		return fmt.Errorf("the session ends here, with %d runs kept: %w", len(s.runs), err)
	}
	if s.json {
		if err := json.NewEncoder(s.out).Encode(rec); err != nil {
			return fmt.Errorf("standard output: %w; the session ends here, kept in %s", err, s.journal.Dir())
		}
	}
	s.runs = append(s.runs, *rec)
	return nil
}

// together measures a single step, or the levels that take turns.
func (s *session) together(ctx context.Context, work []plan.Level) ([]*record.Run, error) {
	if s.plan.Paired == "" {
		rec, err := s.one(ctx, s.plan.Cells[work[0].Cell], work[0].Step)
		return []*record.Run{rec}, err
	}
	var cells []record.Cell
	var opts []runner.Options
	var names []string
	for _, l := range work {
		cell := s.plan.Cells[l.Cell]
		opt, err := s.options(cell, l.Step)
		if err != nil {
			recs := make([]*record.Run, len(work))
			for i, l := range work {
				recs[i] = runner.NotRun(s.plan.Cells[l.Cell], err)
			}
			return recs, nil
		}
		cells, opts, names = append(cells, cell), append(opts, opt), append(names, l.Name)
	}
	return runner.Paired(ctx, cells, opts, s.plan.Paired, names)
}

// one executes a run where its cell is placed. A placement that the machine
// had when the plan was made and has no longer is a failed run.
func (s *session) one(ctx context.Context, cell record.Cell, step plan.Step) (*record.Run, error) {
	opt, err := s.options(cell, step)
	if err != nil {
		return runner.NotRun(cell, err), nil
	}
	return runner.Run(ctx, cell, opt)
}

// options are what the runner is told of a step; the error is why the cell
// cannot be placed.
func (s *session) options(cell record.Cell, step plan.Step) (runner.Options, error) {
	opt := runner.Options{
		Window: time.Duration(s.plan.WindowNS), Warmup: time.Duration(s.plan.WarmupNS), Slice: time.Duration(s.plan.SliceNS),
		Ops: s.plan.Ops, Seed: s.plan.Seed + uint64(step.Seq), Exe: s.exe,
		Accounting: accounting(s.env), Idle: s.idle, Distance: s.machine.Class,
	}
	for _, r := range s.runs { // a session that is carried on with does the work that it did
		if opt.Spin == nil {
			opt.Spin = r.Spin
		}
	}
	if step.Instrumented {
		i, err := plan.ParseInstrument(s.plan.Instrument)
		if err != nil {
			return opt, err
		}
		opt.Instrument = watched(i)
	}
	p, err := runner.Place(s.machine, cell)
	if err == nil {
		opt.CPUs, opt.Spare = runner.PlacedCPUs(p), p.Spare()
	}
	return opt, err
}

// table is what the table is told beside the runs.
func (s *session) table() report.Options {
	o := report.Options{
		Title: fmt.Sprintf("%s %s, %s, boot %.8s", s.env.Kernel.OS, s.env.Kernel.Release, s.env.CPU.Model, s.env.BootID),
		Notes: rungs(s.plan.Rungs), Width: terminalWidth(tableWidth), Cells: s.plan.Cells, Discard: s.plan.Discard, Warnings: s.warnings, Explain: s.explain,
		Accounting: splits(accounting(s.env)),
		Guest:      s.env.Virtual.Machine != nil && *s.env.Virtual.Machine,
		Distance:   func(a, b int) (string, int) { return s.machine.Class(a, b), int(s.machine.Distance(a, b)) },
	}
	return o
}

// compare sets against each other what the plan was made to: levels that took
// turns, or A and B.
func (s *session) compare(to io.Writer) (err error) {
	in := compare.Input{Threshold: compare.DefaultThreshold, Discard: s.plan.Discard, Unit: compare.UnitRun, Together: true}
	switch {
	case s.plan.ABSelf:
		in.Sides = abSides(s.plan, s.runs)
	case s.plan.Paired != "":
		in.Factors = []string{s.plan.Paired}
		if in.Sides, err = compare.Split([]compare.Source{{Runs: s.runs, Cells: s.plan.Cells}}, s.plan.Paired, nil); err != nil {
			return err
		}
	default:
		return nil
	}
	r, err := compare.Compare(in)
	if err != nil {
		return err
	}
	fmt.Fprintln(to)
	return r.WriteTable(to, terminalWidth(tableWidth))
}

// finish prints the table and says how the session ended.
func (s *session) finish(interrupted bool) error {
	to := s.out
	if s.json {
		to = os.Stderr
	}
	failed := 0
	for _, r := range s.runs {
		if r.Status == record.Failed {
			failed++
		}
	}
	if len(s.runs) > 0 && !s.json {
		if err := report.Table(to, s.runs, s.table()); err != nil {
			return &exitError{exitFailed, fmt.Errorf("standard output: %w; the session is kept in %s", err, s.journal.Dir())}
		}
		if err := s.compare(to); err != nil {
			return &exitError{exitFailed, err}
		}
		fmt.Fprintf(to, "\nsession: %s\n", s.journal.Dir())
	} else {
		for _, w := range s.warnings {
			fmt.Fprintln(os.Stderr, "udsbench: "+w)
		}
	}
	switch {
	case interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted; %d of %d runs are kept in %s (carry on with --resume %s)", len(s.runs), s.plan.Len(), s.journal.Dir(), s.journal.Dir())}
	case failed > 0:
		return &exitError{exitFailed, fmt.Errorf("%d of %d runs failed", failed, len(s.runs))}
	}
	return nil
}
