package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"time"

	"udsbench/record"
)

// Schema is the version of plan.json.
const Schema = 1

// Plan is everything that is to be measured, in order.
type Plan struct {
	Schema   int    `json:"schema"`
	Hash     string `json:"hash"` // of all that changes what is measured: equal plans have equal hashes
	Seed     uint64 `json:"seed"`
	Runs     int    `json:"runs"`
	Discard  int    `json:"discard"`
	WindowNS int64  `json:"window_ns"`
	WarmupNS int64  `json:"warmup_ns"`
	SliceNS  int64  `json:"slice_ns"`
	Ops      uint64 `json:"ops"` // operations a client that end a run; 0: the window ends it

	Paired string `json:"paired,omitempty"`  // the factor whose levels take turns in short slices; "": runs stand alone
	ABSelf bool   `json:"ab_self,omitempty"` // each cell is run as A and as B
	// IdleLatency bounds how long a CPU may take to wake from idle, in µs; "":
	// not at all.
	IdleLatency string `json:"idle_latency_us,omitempty"`
	Import      bool   `json:"imported,omitempty"`   // its runs were measured by another program: it cannot be carried on with
	Instrument  string `json:"instrument,omitempty"` // what instrumented runs look at; "": there are none

	Cells []record.Cell `json:"cells"`
	// Order gives for each block indices into Cells in the order of its runs. An
	// index from len(Cells) up is the second run of the cell that stands
	// len(Cells) before it: the instrumented one, or the B of A/A.
	Order   [][]int   `json:"order"`
	LeftOut []LeftOut `json:"left_out,omitempty"`
	Rungs   []Rung    `json:"rungs,omitempty"` // of placement presets
}

// Rung is a step of a placement preset, as "opteron": what the preset calls it,
// and the placement that it is on this machine, or why there is none.
type Rung struct {
	Preset    string `json:"preset"`
	Label     string `json:"label"`
	Placement string `json:"placement,omitempty"`
	Missing   string `json:"missing,omitempty"`
}

// LeftOut is a combination of the product that cannot exist.
type LeftOut struct {
	Cell   record.Cell `json:"cell"`
	Reason string      `json:"reason"`
}

// Step is one run to do. Seq counts all runs from 0, Block from 0; Cell is an
// index into Plan.Cells.
type Step struct {
	Seq, Block, Cell int
	Instrumented     bool
	B                bool // the second of two runs of one cell that are to be set against each other
}

// Input is what was asked for.
type Input struct {
	// Suite holds the products whose union is measured; empty without a suite.
	Suite []Lists
	// Given are the lists from the command line. They stand in place of the
	// suite's own, in each of its products; without a suite they are the product.
	Given    Lists
	Settings Settings
}

// maxProduct bounds the combinations of a plan, so that a slip in a list is an
// error and not an endless wait.
const maxProduct = 1_000_000

// Build makes the plan of in. Combinations that cannot exist are left out and
// listed; it is a UsageError if none remains, or if a value that was given
// remains in none. A suite's own values may all fall away (a suite is written
// for every system), which is listed too.
func Build(in Input, catalogue Catalogue) (*Plan, error) {
	if err := in.Settings.check(); err != nil {
		return nil, err
	}
	products := []Lists{in.Given}
	if len(in.Suite) > 0 {
		products = nil
		for _, l := range in.Suite {
			products = append(products, l.override(in.Given))
		}
	}
	b := builder{catalogue: catalogue, seen: map[string]bool{}, alive: map[Field]bool{}, dead: map[Field]string{}}
	for _, l := range products {
		if err := b.product(l); err != nil {
			return nil, err
		}
	}
	if len(b.cells) == 0 {
		return nil, &UsageError{Why: b.nothing()}
	}
	if err := b.missing(in.Given); err != nil {
		return nil, err
	}
	items := len(b.cells)
	if in.Settings.Instrument != "" || in.Settings.Paired == Nothing || in.Settings.ABSelf {
		items *= 2
	}
	p := &Plan{
		Schema:   Schema,
		Seed:     in.Settings.Seed,
		Runs:     in.Settings.Runs,
		Discard:  in.Settings.Discard,
		WindowNS: in.Settings.Window.Nanoseconds(),
		WarmupNS: in.Settings.Warmup.Nanoseconds(),
		SliceNS:  in.Settings.slice().Nanoseconds(),
		Ops:      in.Settings.Ops,
		Cells:    b.cells,
		Order:    order(items, in.Settings.Runs, in.Settings.Seed),
		LeftOut:  b.leftOut,

		Paired:     in.Settings.Paired,
		ABSelf:     in.Settings.ABSelf,
		Instrument: in.Settings.Instrument,

		IdleLatency: in.Settings.IdleLatency,
	}
	if err := p.checkPaired(); err != nil {
		return nil, err
	}
	p.Hash = p.hash()
	return p, nil
}

// builder collects the cells of one or more products.
type builder struct {
	catalogue Catalogue
	cells     []record.Cell
	leftOut   []LeftOut
	seen      map[string]bool  // keys of cells, and of what was left out
	alive     map[Field]bool   // values that some cell has, as they were written
	dead      map[Field]string // why a value was first left out
	size      int
}

func (b *builder) product(l Lists) error {
	if len(l.Workload) == 0 {
		return &UsageError{"workload", "", "name at least one; udsbench list shows them"}
	}
	size := 1
	var given []axis
	for _, a := range l.axes() {
		if n := len(*a.list(&l)); n > 0 {
			given = append(given, a)
			if size *= n; size > maxProduct {
				break
			}
		}
	}
	if b.size += size; b.size > maxProduct {
		return &UsageError{Why: fmt.Sprintf("the lists have over %d combinations: shorten them", maxProduct)}
	}
	// An odometer over the given axes, the last one turning fastest.
	at := make([]int, len(given))
	for {
		if err := b.add(l, given, at); err != nil {
			return err
		}
		i := len(given) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(*given[i].list(&l)) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// add fills and checks the combination that has the at[i]th value of each axis.
func (b *builder) add(l Lists, given []axis, at []int) error {
	asked := record.Cell{
		Placement: defaultPlacement,
		Clock:     defaultClock,
		Parallel:  1,
		Request:   Unset,
		Response:  Unset,
		Params:    map[string]string{},
	}
	var values []Field
	for i, a := range given {
		v := (*a.list(&l))[at[i]]
		if err := a.set(&asked, v); err != nil {
			return err
		}
		values = append(values, Field{a.flag, v})
	}
	cell, reason := b.fill(asked, given)
	if reason != "" {
		for _, v := range values {
			if _, ok := b.dead[v]; !ok {
				b.dead[v] = reason
			}
		}
		if key := Key(cell) + reason; !b.seen[key] {
			b.seen[key] = true
			b.leftOut = append(b.leftOut, LeftOut{cell, reason})
		}
		return nil
	}
	for _, v := range values {
		b.alive[v] = true
	}
	if key := Key(cell); !b.seen[key] {
		b.seen[key] = true
		b.cells = append(b.cells, cell)
	}
	return nil
}

// fill gives the whole cell of what was asked, and why it cannot exist.
func (b *builder) fill(asked record.Cell, given []axis) (cell record.Cell, reason string) {
	cell = asked
	cell.Params = maps.Clone(asked.Params) // Fill may write to it
	cell = b.catalogue.Fill(cell)
	if cell.Transport == "" {
		cell.Transport = defaultTransport
		cell = b.catalogue.Fill(cell)
	}
	if cell.Params == nil {
		cell.Params = map[string]string{}
	}
	if cell.Policy == "" {
		cell.Policy = defaultPolicy
	}
	if err := b.catalogue.Check(cell); err != nil {
		return cell, err.Error()
	}
	// A given "no" or nice 0 looks like no value to Fill. What comes back must still
	// be what was asked for.
	for _, a := range given {
		if want, got := a.get(&asked), a.get(&cell); want != got {
			return cell, fmt.Sprintf("%s has no %s %s: leave the flag out or give %s", cell.Workload, a.flag, want, got)
		}
	}
	return cell, ""
}

// nothing says why there is no cell at all.
func (b *builder) nothing() string {
	first := b.leftOut[0].Reason
	for _, l := range b.leftOut {
		if l.Reason != first {
			return "no combination of these values can exist; the first: " + first
		}
	}
	return first
}

// missing refuses a given value that no cell has.
func (b *builder) missing(given Lists) error {
	for _, a := range given.axes() {
		for _, v := range *a.list(&given) {
			f := Field{a.flag, v}
			if !b.alive[f] {
				return &UsageError{a.flag, v, b.dead[f]}
			}
		}
	}
	return nil
}

// order shuffles every block on its own: block b is the shuffle of 0..cells-1
// by math/rand/v2 over PCG(seed, b). More runs leave the earlier blocks as
// they were.
func order(cells, runs int, seed uint64) [][]int {
	blocks := make([][]int, runs)
	for b := range blocks {
		block := make([]int, cells)
		for i := range block {
			block[i] = i
		}
		r := rand.New(rand.NewPCG(seed, uint64(b)))
		r.Shuffle(cells, func(i, j int) { block[i], block[j] = block[j], block[i] })
		blocks[b] = block
	}
	return blocks
}

// hash leaves out what changes no measurement: how many runs the figures leave
// aside, what was left out, and what placements are called.
func (p *Plan) hash() string {
	m := *p
	m.Hash, m.Discard, m.LeftOut, m.Rungs = "", 0, nil, nil
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings, numbers and bools
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Steps gives all runs in order.
func (p *Plan) Steps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		seq := 0
		for b, block := range p.Order {
			for _, c := range block {
				n := len(p.Cells)
				if !yield(Step{Seq: seq, Block: b, Cell: c % n, Instrumented: c >= n && p.Instrument != "", B: c >= n && p.ABSelf}) {
					return
				}
				seq++
			}
		}
	}
}

// Len gives the number of runs.
func (p *Plan) Len() int {
	n := 0
	for _, block := range p.Order {
		n += len(block)
	}
	return n
}

// Processes gives how many processes a run of c starts.
func Processes(c record.Cell) int {
	if c.OneProcess {
		return 1
	}
	role := func(model string) int {
		if model == "process" {
			return c.Parallel
		}
		return 1
	}
	return role(c.Model) + role(c.ServerModel)
}

// Estimate gives how long the plan takes from the start and stop of one
// process and of one run beyond that. known is false where --ops ends the
// runs: how long that takes is what is to be measured.
func (p *Plan) Estimate(perProcess, perRun time.Duration) (d time.Duration, known bool) {
	if p.Ops > 0 {
		return 0, false
	}
	for s := range p.Steps() {
		d += perRun + time.Duration(p.WarmupNS+p.WindowNS) + time.Duration(Processes(p.Cells[s.Cell]))*perProcess
	}
	return d, true
}

// Encode writes the plan as plan.json keeps it.
func (p *Plan) Encode() ([]byte, error) {
	text, err := json.Marshal(p)
	return append(text, '\n'), err
}

// Decode reads a plan.json. It is an error if the plan was made by a later
// version, or is not the one that its hash was taken of.
func Decode(text []byte) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	if p.Schema < 1 || p.Schema > Schema {
		return nil, fmt.Errorf("plan of schema %d: this version reads up to %d", p.Schema, Schema)
	}
	for b, block := range p.Order {
		for _, c := range block {
			if c < 0 || c >= len(p.Cells) && (p.Instrument == "" && p.Paired != Nothing && !p.ABSelf || c >= 2*len(p.Cells)) {
				return nil, fmt.Errorf("plan names cell %d in block %d, but has %d cells", c, b, len(p.Cells))
			}
		}
	}
	if got := p.hash(); got != p.Hash {
		return nil, fmt.Errorf("plan was changed after it was made: its hash is %.12s, it says %.12s", got, p.Hash)
	}
	return p, nil
}

// Imported is the plan of runs that were measured elsewhere, in their order: it
// names their cells, and blocks where they have any.
func Imported(runs []record.Run) *Plan {
	p := &Plan{Schema: Schema, Import: true}
	at := map[string]int{}
	for i := range runs {
		k := Key(runs[i].Cell)
		n, ok := at[k]
		if !ok {
			n = len(p.Cells)
			at[k] = n
			p.Cells = append(p.Cells, runs[i].Cell)
		}
		if len(p.Order) == 0 || runs[i].Block != runs[i-1].Block {
			p.Order = append(p.Order, nil)
		}
		last := &p.Order[len(p.Order)-1]
		*last = append(*last, n)
	}
	p.Runs = len(p.Order)
	p.Hash = p.hash()
	return p
}
