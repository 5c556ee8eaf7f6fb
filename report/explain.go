package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"udsbench/record"
)

// fewCells is up to how many cells the table says unasked where their time went.
const fewCells = 4

// Explain writes where the time of each cell's operations went: on a CPU,
// waiting for one, asleep, by role, and what the instrumented runs tell of
// switches. The error is w's.
func Explain(w io.Writer, runs []record.Run, opt Options) error {
	opt.Explain = true
	if opt.Width == 0 {
		opt.Width = 120
	}
	rows := Summarise(runs, opt.Cells, opt.Discard, opt.Accounting)
	_, err := io.WriteString(w, explanation(rows, runs, names(rows), opt))
	return err
}

func names(rows []Row) identity {
	var cells []record.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	return identify(cells)
}

// explanation is a paragraph a cell. Unasked, it is there for few cells only,
// in one sentence each, and not where nothing is known.
func explanation(rows []Row, runs []record.Run, id identity, opt Options) string {
	if !opt.Explain && len(rows) > fewCells {
		return ""
	}
	var b strings.Builder
	for _, r := range rows {
		if len(r.OK) == 0 {
			continue
		}
		s := r.spent(opt.Accounting)
		if s.why != "" && !opt.Explain {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\ntime per operation, all runs of a cell together:\n")
		}
		name := ""
		if len(rows) > 1 {
			name = id.name(r.Cell) + ": "
		}
		paragraph(&b, opt.Width, "  - ", name+s.sentence(r.Cell))
		if !opt.Explain {
			continue
		}
		for _, line := range slices.Concat(s.details(&r), instrumented(r.Cell, runs, opt)) {
			paragraph(&b, opt.Width, "      ", line)
		}
	}
	return b.String()
}

// spent is where the time of a cell's operations went, by role.
type spent struct {
	roles []roleTime
	why   string // nothing is known
}

// roleTime is what one operation took of one role's threads, in ns.
type roleTime struct {
	name                   string
	threads                int // of one run
	source                 string
	wall, on               float64
	user, system           float64
	split                  string // why user and system are withheld
	runnable, blocked      float64
	apart                  string // why runnable and blocked are not told apart
	voluntary, involuntary float64
}

// spent adds up the runs, so that the parts of each role add up to its whole.
func (r *Row) spent(acc Accounting) spent {
	var s spent
	roles := map[string]bool{}
	for _, x := range r.OK {
		for name := range x.Roles {
			roles[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		t := roleTime{name: name}
		var ops uint64
		var user, system int64
		known := 0
		for i := range r.OK {
			x := &r.OK[i]
			role := x.Roles[name]
			if role.Time == nil || role.Time.Ops == 0 || role.CPUNS == nil {
				s.why = cmp.Or(s.why, reason(x.Unavailable, "roles."+name+".time"))
				continue
			}
			known++
			t.threads, t.source = role.Time.Threads, role.Time.Source
			ops += role.Time.Ops
			t.wall += float64(role.Time.WallNS)
			t.on += float64(role.Time.OnNS)
			user += role.CPUNS.User
			system += role.CPUNS.System
			if role.Switches != nil {
				t.voluntary += float64(role.Switches.Voluntary)
				t.involuntary += float64(role.Switches.Involuntary)
			}
			if role.Time.RunnableNS != nil && role.Time.BlockedNS != nil {
				t.runnable += float64(*role.Time.RunnableNS)
				t.blocked += float64(*role.Time.BlockedNS)
			} else {
				t.apart = cmp.Or(t.apart, reason(x.Unavailable, "roles."+name+".time.runnable_ns"))
			}
		}
		if known == 0 {
			return spent{why: s.why}
		}
		n := float64(ops)
		for _, v := range []*float64{&t.wall, &t.on, &t.runnable, &t.blocked, &t.voluntary, &t.involuntary} {
			*v /= n
		}
		t.user, t.system, t.split = acc.split(user, system, t.on)
		s.roles = append(s.roles, t)
	}
	if len(s.roles) == 0 {
		s.why = "the runs tell nothing of their roles"
	} else {
		s.why = ""
	}
	return s
}

// split parts the time on CPU, of one operation, as user and system do in all
// of what was counted; why says that it cannot.
func (acc Accounting) split(user, system int64, on float64) (u, s float64, why string) {
	all := user + system
	if all == 0 {
		return 0, 0, "no time on a CPU was counted"
	}
	if tick := cmp.Or(acc.TickNS, defaultTick); !acc.Exact && all/tick < minTicks {
		return 0, 0, fmt.Sprintf("user and system withheld: %d ticks of %d", all/tick, minTicks)
	}
	u = on * float64(user) / float64(all)
	return u, on - u, ""
}

// sentence says in one line where an operation's time went.
func (s spent) sentence(c record.Cell) string {
	if s.why != "" {
		return "where its time went is not known: " + s.why
	}
	client, server := s.role(record.Client), s.role(record.Server)
	if client == nil || server == nil || c.Response == 0 || client.apart+server.apart != "" {
		var parts []string
		for i := range s.roles {
			parts = append(parts, s.roles[i].text())
		}
		text := strings.Join(parts, "; ")
		if len(parts) > 1 {
			text += "; the roles overlap in time"
		}
		return text
	}
	// A client has one round trip after the other: its wall is their time.
	// What its server did for one of them may overlap with what it did itself,
	// so that what is left is the least that can have been sleep.
	u := unitOf(client.wall)
	waiting := client.runnable + server.runnable
	left := client.wall - client.on - server.on - waiting
	text := fmt.Sprintf("of %s %s per round trip, %s user+system client, %s server, %s waiting for a CPU (%s client, %s server), ",
		u.of(client.wall), u.name, u.of(client.on), u.of(server.on), u.of(waiting), u.of(client.runnable), u.of(server.runnable))
	what := "asleep"
	if server.threads < client.threads {
		what = "asleep or behind other clients' operations"
	}
	if left >= 0 {
		return text + fmt.Sprintf("%s %s; the roles overlap in time, and as much as they do more is sleep", u.of(left), what)
	}
	return text + fmt.Sprintf("which is %s more than the whole: for at least that long the roles overlap", u.of(-left))
}

func (s spent) role(name string) *roleTime {
	for i := range s.roles {
		if s.roles[i].name == name {
			return &s.roles[i]
		}
	}
	return nil
}

// text is one role's whole and its parts, which add up to it.
func (t roleTime) text() string {
	u := unitOf(t.wall)
	on := u.of(t.on) + " on a CPU"
	if t.split == "" {
		on += fmt.Sprintf(" (%s user, %s system)", u.of(t.user), u.of(t.system))
	}
	rest := fmt.Sprintf("%s waiting for one, %s asleep", u.of(t.runnable), u.of(t.blocked))
	if t.apart != "" {
		rest = fmt.Sprintf("%s waiting for one or asleep, not told apart: %s", u.of(t.wall-t.on), t.apart)
	}
	return fmt.Sprintf("%s: of %s %s per operation, %s, %s", t.name, u.of(t.wall), u.name, on, rest)
}

// details are the lines under the sentence.
func (s spent) details(r *Row) []string {
	if s.why != "" {
		return nil
	}
	var lines []string
	for _, t := range s.roles {
		line := t.text() + fmt.Sprintf("; switches %s voluntary, %s involuntary", digits(t.voluntary), digits(t.involuntary))
		if t.split != "" {
			line += "; " + t.split
		}
		lines = append(lines, line+" [by "+t.source+"]")
	}
	return append(lines, r.accounts())
}

// accounts says how CPU time was accounted for, and what the hypervisor and
// interrupts took, which no thread's share shows.
func (r *Row) accounts() string {
	var parts []string
	x := &r.OK[0]
	if a := x.Accounting; a != nil {
		text := "user and system are told apart by " + a.Mode
		if a.Mode == "tick" && a.TickNS > 0 {
			text = fmt.Sprintf("user and system are sampled at ticks of %s", Nanoseconds(float64(a.TickNS)))
		}
		switch {
		case a.InterruptsApart == nil:
		case *a.InterruptsApart:
			text += ", interrupts are charged to nobody and lie in what is left"
		default:
			text += ", interrupts are charged to whom they interrupt"
		}
		parts = append(parts, text)
	} else {
		parts = append(parts, "how CPU time is accounted for is not known: "+reason(x.Unavailable, "cpu_accounting"))
	}
	for _, f := range []struct {
		name, what string
		get        func(*record.Host) *int64
	}{
		{"host.steal_ns", "steal", func(h *record.Host) *int64 { return h.StealNS }},
		{"host.irq_ns", "interrupts", func(h *record.Host) *int64 { return h.IrqNS }},
	} {
		vs, why := r.each(f.name, func(x *record.Run) (float64, bool) {
			if x.Host == nil || x.WindowS == nil {
				return 0, false
			}
			ns := f.get(x.Host)
			if ns == nil {
				return 0, false
			}
			return float64(*ns) / 1e9 / *x.WindowS, true
		})
		if m := r.median(vs, why); m.Missing != "" {
			parts = append(parts, f.what+" not known: "+m.Missing)
		} else {
			parts = append(parts, fmt.Sprintf("%s %.2f CPUs of the machine", f.what, m.Value))
		}
	}
	return strings.Join(parts, "; ")
}

// unit is one unit for all the times of a sentence.
type unit struct {
	name   string
	ns     float64
	places int
}

func unitOf(ns float64) unit {
	u := unit{"ns", 1, 0}
	switch {
	case ns >= 999.5e6:
		u = unit{"s", 1e9, 0}
	case ns >= 999.5e3:
		u = unit{"ms", 1e6, 0}
	case ns >= 999.5:
		u = unit{"µs", 1e3, 0}
	}
	if v := ns / u.ns; v < 9.995 && u.ns > 1 {
		u.places = 2
	} else if u.ns > 1 {
		u.places = 1
	}
	return u
}

func (u unit) of(ns float64) string { return fmt.Sprintf("%.*f", u.places, ns/u.ns) }
