package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
)

const (
	drawWidth    = 80
	maxRows      = 20  // packages or nodes with a line of their own
	maxDistances = 8   // nodes whose distances are shown one by one
	maxNamed     = 24  // workers shown by name; more are counted
	maxSpoken    = 32  // CPUs shown with counts; on more, each is one letter
	maxList      = 150 // characters of a list of CPUs; a longer one is counted
)

// Draw shows the machine to a person at a terminal of 80 columns: a line or a
// few for each package and node, the CPUs of a core, of a second-level and of
// a last-level cache joined. With a placement, each CPU shows its workers: by name
// where there are few, else by count, or as one letter on a large machine.
func (m *Machine) Draw(p *Placement) string {
	d := &drawing{m: m, load: make(map[int][]Worker)}
	if p != nil {
		for _, w := range p.Workers {
			d.load[w.CPU] = append(d.load[w.CPU], w)
		}
		d.named = len(p.Workers) <= maxNamed
		d.letters = !d.named && len(m.Online()) > maxSpoken && len(d.load[Free]) < len(p.Workers)
	}
	d.head()
	d.rows()
	d.legend(p)
	d.distances()
	if p != nil {
		d.placement(p)
	}
	for _, warning := range m.Warnings {
		d.paragraph("warning  ", warning)
	}
	return d.out.String()
}

type drawing struct {
	m    *Machine
	load map[int][]Worker // by CPU number
	out  strings.Builder

	named   bool // workers by name
	letters bool // CPUs as letters

	sawSMT, sawL2, sawLLC, sawDie, sawPackage, sawForbidden bool
}

func (d *drawing) head() {
	m := d.m
	online, allowed := m.Online(), m.Allowed()
	facts := []string{count(len(online), "CPU", "CPUs")}
	told := func(n int, one, many, missing string) {
		if n == Unknown {
			facts = append(facts, missing)
		} else {
			facts = append(facts, count(n, one, many))
		}
	}
	told(m.Cores, "core", "cores", "cores not told")
	if m.ThreadsPerCore > 1 {
		facts[len(facts)-1] += fmt.Sprintf(" of up to %d threads", m.ThreadsPerCore)
	}
	told(m.Packages, "package", "packages", "packages not told")
	if len(m.NodeNumbers) > 0 {
		facts = append(facts, count(m.Nodes, "NUMA node", "NUMA nodes"))
	} else {
		facts = append(facts, "NUMA nodes not told")
	}
	d.paragraph("", shortened(m.Source)+": "+strings.Join(facts, ", "))
	var offline []int
	for _, c := range m.CPUs {
		if !c.Online {
			offline = append(offline, c.CPU)
		}
	}
	if len(offline) > 0 {
		d.paragraph("offline  ", affinity.FormatList(offline))
	}
	if len(allowed) < len(online) {
		d.paragraph("allowed  ", affinity.FormatList(allowed)+" for this process")
	}
	if kinds := d.kinds(); kinds != "" {
		d.paragraph("kinds    ", kinds)
	}
	if len(m.MemoryNodes) > 0 {
		d.paragraph("nodes    ", affinity.FormatList(m.MemoryNodes)+" hold memory and no online CPU")
	}
	d.out.WriteByte('\n')
}

// shortened keeps the end of a long path.
func shortened(source string) string {
	const most = 40
	if runes := []rune(source); len(runes) > most {
		return "…" + string(runes[len(runes)-most:])
	}
	return source
}

func (d *drawing) kinds() string {
	var kinds []string
	for kind := 0; ; kind++ {
		cpus := d.m.numbers(func(c CPU) bool { return c.Kind == kind })
		if len(cpus) == 0 {
			break
		}
		kinds = append(kinds, affinity.FormatList(cpus))
	}
	if len(kinds) == 0 {
		return ""
	}
	return "of core, slowest first: " + strings.Join(kinds, "; ")
}

// row is what stands under one label: CPUs by index.
type row struct {
	label string
	cpus  []int
}

// rows shows every package and node by itself, or only the wider of the two
// where there are too many.
func (d *drawing) rows() {
	m := d.m
	by := []Level{Package, Node}
	rows := d.group(by)
	if len(rows) > maxRows {
		by = []Level{Package}
		if len(m.groups[Package]) == 0 || len(m.groups[Node]) > 0 && len(m.groups[Node]) < len(m.groups[Package]) {
			by = []Level{Node}
		}
		if rows = d.group(by); len(rows) > maxRows {
			by, rows = nil, d.group(nil)
		}
	}
	inline := []Level{Die, LLC, L2, SMT}
	if !slices.Contains(by, Package) {
		inline = append([]Level{Package}, inline...)
	}
	for _, r := range rows {
		words := d.words(r.cpus, inline)
		if d.letters && len(rows) > 1 {
			label := r.label + " (CPUs " + affinity.FormatList(d.m.numbersOf(r.cpus)) + ")"
			if len(label)+2+lengthOf(words) <= drawWidth {
				d.flow(words, label+"  ", "")
				continue
			}
			d.paragraph("", label)
			d.flow(words, "  ", "  ")
			continue
		}
		if r.label != "" && len(rows) > 1 {
			if line := len(r.label) + 2; line+lengthOf(words) <= drawWidth {
				d.flow(words, r.label+"  ", strings.Repeat(" ", line))
				continue
			}
			d.out.WriteString(r.label + "\n")
		}
		d.flow(words, "  ", "  ")
	}
	d.out.WriteByte('\n')
}

// group sorts the online CPUs into rows by the levels given, in the order of
// their lowest CPU.
func (d *drawing) group(by []Level) []row {
	rows := make(map[string]*row)
	for i, c := range d.m.CPUs {
		if !c.Online {
			continue
		}
		var label []string
		for _, level := range by {
			if g := c.group(level); g != Unknown {
				label = append(label, map[Level]string{Package: "package ", Node: "node "}[level]+strconv.Itoa(g))
			}
		}
		key := strings.Join(label, ", ")
		if rows[key] == nil {
			rows[key] = &row{label: key}
		}
		rows[key].cpus = append(rows[key].cpus, i)
	}
	sorted := make([]row, 0, len(rows))
	for _, r := range slices.SortedFunc(maps.Values(rows), func(a, b *row) int { return a.cpus[0] - b.cpus[0] }) {
		sorted = append(sorted, *r)
	}
	return sorted
}

// words writes CPUs down, one word a core (or a second-level cache), with the
// brackets of the levels around.
func (d *drawing) words(cpus []int, levels []Level) []string {
	if len(levels) == 0 {
		var threads []string
		for _, i := range cpus {
			threads = append(threads, d.cpu(&d.m.CPUs[i]))
		}
		if d.letters {
			return []string{strings.Join(threads, "")}
		}
		return []string{strings.Join(threads, "+")}
	}
	level := levels[0]
	var words []string
	for _, members := range d.split(cpus, level) {
		inner := d.words(members, levels[1:])
		grouped := d.m.CPUs[members[0]].group(level) != Unknown
		several := len(d.m.groups[level]) > 1 || level == LLC
		switch {
		case level == SMT:
			d.sawSMT = d.sawSMT || len(members) > 1
		case level == L2 && grouped && len(inner) > 1 && d.m.meetsInL2(members):
			d.sawL2 = true
			inner = []string{strings.Join(inner, "/")}
		case level == LLC && grouped && several && len(inner) > 1:
			d.sawLLC = true
			inner = bracket(inner, "[", "]")
		case level == Die && grouped && several && len(d.split(cpus, Die)) > 1:
			d.sawDie = true
			inner = bracket(inner, "{", "}")
		case level == Package && grouped && several:
			d.sawPackage = true
			inner = bracket(inner, "<", ">")
		}
		words = append(words, inner...)
	}
	return words
}

// meetsInL2 says whether cores share a second level that is not the last.
func (m *Machine) meetsInL2(cpus []int) bool {
	for _, i := range cpus[1:] {
		if level, _ := m.meet(cpus[0], i); level == L2 {
			return true
		}
	}
	return false
}

func bracket(words []string, open, shut string) []string {
	words = slices.Clone(words)
	words[0] = open + words[0]
	words[len(words)-1] += shut
	return words
}

// split sorts CPUs by their groups at a level; those that tell none stand alone.
func (d *drawing) split(cpus []int, level Level) [][]int {
	at := make(map[int]int)
	var parts [][]int
	for _, i := range cpus {
		g := d.m.CPUs[i].group(level)
		if n, found := at[g]; found && (g != Unknown || level != SMT) {
			parts[n] = append(parts[n], i)
			continue
		}
		at[g] = len(parts)
		parts = append(parts, []int{i})
	}
	return parts
}

// cpu is one CPU: its number, in parentheses where this process may not use
// it, and its workers.
func (d *drawing) cpu(c *CPU) string {
	if d.letters {
		return d.letter(c)
	}
	name := strconv.Itoa(c.CPU)
	if !c.Allowed {
		d.sawForbidden = true
		return "(" + name + ")"
	}
	workers := d.load[c.CPU]
	if len(workers) == 0 {
		return name
	}
	if d.named {
		var names []string
		for _, w := range workers {
			names = append(names, w.Role[:1]+strconv.Itoa(w.Index))
		}
		return name + ":" + strings.Join(names, "")
	}
	clients, servers := roles(workers)
	name += ":"
	if clients > 0 {
		name += strconv.Itoa(clients) + "c"
	}
	if servers > 0 {
		name += strconv.Itoa(servers) + "s"
	}
	return name
}

func (d *drawing) letter(c *CPU) string {
	clients, servers := roles(d.load[c.CPU])
	switch {
	case !c.Allowed:
		return "x"
	case clients > 0 && servers > 0:
		return "b"
	case clients > 0:
		return "c"
	case servers > 0:
		return "s"
	}
	return "."
}

func roles(workers []Worker) (clients, servers int) {
	for _, w := range workers {
		if w.Role == Client {
			clients++
		}
	}
	return clients, len(workers) - clients
}

func lengthOf(words []string) int {
	n := len(words) - 1
	for _, w := range words {
		n += len(w)
	}
	return n
}

// flow writes words in lines. A bracketed group that would be broken begins a
// line if it then fits.
func (d *drawing) flow(words []string, first, rest string) {
	line, empty := first, true
	for i, word := range words {
		need := len(word)
		if strings.ContainsAny(word[:1], "[{<") {
			end := i
			for end < len(words)-1 && !strings.ContainsAny(words[end][len(words[end])-1:], "]}>") {
				end++
			}
			if group := lengthOf(words[i : end+1]); len(rest)+group <= drawWidth {
				need = group
			}
		}
		if !empty && len(line)+1+need > drawWidth {
			d.out.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	d.out.WriteString(line + "\n")
}

// paragraph writes running text under a label.
func (d *drawing) paragraph(label, text string) {
	d.flow(strings.Fields(breakable(text)), label, strings.Repeat(" ", len(label)))
}

// breakable lets long lists of CPUs break after their commas.
func breakable(text string) string {
	var words []string
	for _, word := range strings.Fields(text) {
		if len(word) > 40 {
			word = strings.ReplaceAll(word, ",", ", ")
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (d *drawing) legend(p *Placement) {
	var signs []string
	add := func(seen bool, sign string) {
		if seen {
			signs = append(signs, sign)
		}
	}
	add(d.letters, "a letter a CPU: c clients, s servers, b both, . none, x not for this process")
	add(d.sawSMT && !d.letters, "a+b threads of one core")
	add(d.sawSMT && d.letters, "threads of one core together")
	add(d.sawL2, "a/b one L2")
	add(d.sawLLC, "[ ] one last-level cache")
	add(d.sawDie, "{ } one die")
	add(d.sawPackage, "< > one package")
	add(d.sawForbidden, "( ) not for this process")
	if p != nil && d.named {
		add(len(d.load[Free]) < len(p.Workers), "1:c0 client 0 on CPU 1")
		add(slices.ContainsFunc(p.Workers, func(w Worker) bool { return w.Role == Server && w.CPU != Free }), "s server")
	} else if p != nil && !d.letters {
		add(len(d.load[Free]) < len(p.Workers), "1:2c3s two clients and three servers on CPU 1")
	}
	if len(signs) > 0 {
		d.paragraph("", strings.Join(signs, "; "))
		d.out.WriteByte('\n')
	}
}

func (d *drawing) distances() {
	m := d.m
	if m.Distances == nil || len(m.NodeNumbers) < 2 {
		return
	}
	if len(m.NodeNumbers) > maxDistances {
		var classes []string
		for n, distance := range m.Hops() {
			classes = append(classes, fmt.Sprintf("hop=%d is %d", n+1, distance))
		}
		d.paragraph("NUMA distances  ", strings.Join(classes, ", "))
		d.out.WriteByte('\n')
		return
	}
	d.out.WriteString("NUMA distance")
	for _, node := range m.NodeNumbers {
		fmt.Fprintf(&d.out, "%5d", node)
	}
	d.out.WriteByte('\n')
	for i, node := range m.NodeNumbers {
		fmt.Fprintf(&d.out, "%13s", "node "+strconv.Itoa(node))
		for _, distance := range m.Distances[i] {
			fmt.Fprintf(&d.out, "%5d", distance)
		}
		d.out.WriteByte('\n')
	}
	d.out.WriteByte('\n')
}

// placement sums up where the workers are.
func (d *drawing) placement(p *Placement) {
	on := make(map[string][]int)
	workers := make(map[string]int)
	for _, w := range p.Workers {
		workers[w.Role]++
		if w.CPU != Free {
			on[w.Role] = append(on[w.Role], w.CPU)
		}
	}
	d.paragraph("placement  ", p.Name)
	for _, role := range []string{Client, Server} {
		if workers[role] == 0 {
			continue
		}
		where := "anywhere on " + affinity.FormatList(d.m.Allowed())
		if cpus := affinity.FormatList(on[role]); len(on[role]) > 0 {
			where = "on CPU " + cpus
			if strings.ContainsAny(cpus, ",-") {
				where = "on CPUs " + cpus
			}
			if len(cpus) > maxList {
				slices.Sort(on[role])
				where = "on " + count(len(slices.Compact(on[role])), "CPU", "CPUs")
			}
		}
		d.paragraph("           ", count(workers[role], role, role+"s")+" "+where)
	}
	for _, line := range d.m.apart(p) {
		d.paragraph("           ", line)
	}
	for _, note := range p.Notes {
		d.paragraph("           ", note)
	}
	if spare := p.Spare(); len(spare) > 0 {
		text := affinity.FormatList(spare)
		if len(text) > maxList {
			text = count(len(spare), "CPU", "CPUs")
		}
		d.paragraph("           ", "spare: "+text)
	}
	d.out.WriteByte('\n')
}

// apart counts the pairs by how far their ends are apart, nearest first.
func (m *Machine) apart(p *Placement) []string {
	type class struct {
		level Level
		numa  int
	}
	counts := make(map[class]int)
	servers := make(map[int]int)
	for _, w := range p.Workers {
		if w.Role == Server && w.Pair != NoPair && w.CPU != Free {
			servers[w.Pair] = w.CPU
		}
	}
	for _, w := range p.Workers {
		if server, paired := servers[w.Pair]; paired && w.Role == Client && w.Pair != NoPair && w.CPU != Free {
			numa := 0
			if len(m.NodeNumbers) > 1 {
				numa, _ = m.NodeDistance(w.CPU, server)
			}
			counts[class{m.Distance(w.CPU, server), numa}]++
		}
	}
	var lines []string
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.numa, b.numa))
	}) {
		line := count(counts[c], "pair meets", "pairs meet") + " at: " + c.level.String()
		if c.numa > 0 {
			line += fmt.Sprintf(", NUMA distance %d", c.numa)
		}
		lines = append(lines, line)
	}
	return lines
}
