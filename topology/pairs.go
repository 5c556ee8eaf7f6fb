package topology

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// matcher says which CPUs (by index) may be the two ends of a pair, and how
// near they are: less is chosen first.
type matcher struct {
	plan     *plan
	ok       [][]bool // by rank in tree order
	near     [][]int
	partners []int // how many CPUs match
	load     []int // ends given so far
}

// placePairs gives ends that belong together their CPUs.
func (p *plan) placePairs(name parsedName, placement *Placement) error {
	ends := belongings(placement.Workers)
	if name.word == "same-cpu" {
		placement.deal(p.m, p.threadsLast(p.cpus), anyRole) // for those without another end
		p.sameCPU(ends, placement)
		return nil
	}
	lone := len(ends.pairs)+len(ends.hubs) == 0
	if lone && name.word != "split" {
		return fmt.Errorf("it says how far the two ends of a pair are apart, and these workers have no other end")
	}
	placement.deal(p.m, p.threadsLast(p.cpus), anyRole)
	if lone {
		return nil
	}
	match, err := p.match(name)
	if err != nil {
		return err
	}
	for _, hub := range ends.hubs {
		match.placeHub(hub, placement)
	}
	match.placePairs(ends.pairs, placement)
	return nil
}

// ends groups workers (by rank in the list) that belong together.
type ends struct {
	pairs []pair
	hubs  []pair // a server of many clients
}

type pair struct{ clients, servers []int }

func belongings(workers []Worker) ends {
	var e ends
	byPair := make(map[int]*pair)
	var pairNumbers []int
	var loose pair
	for i, w := range workers {
		in := &loose
		if w.Pair != NoPair {
			if byPair[w.Pair] == nil {
				byPair[w.Pair] = &pair{}
				pairNumbers = append(pairNumbers, w.Pair)
			}
			in = byPair[w.Pair]
		}
		if w.Role == Server {
			in.servers = append(in.servers, i)
		} else {
			in.clients = append(in.clients, i)
		}
	}
	slices.Sort(pairNumbers)
	for _, n := range pairNumbers {
		if p := byPair[n]; len(p.clients) > 0 && len(p.servers) > 0 {
			e.pairs = append(e.pairs, *p)
		}
	}
	for s, server := range loose.servers {
		hub := pair{servers: []int{server}}
		for c := s; c < len(loose.clients); c += len(loose.servers) {
			hub.clients = append(hub.clients, loose.clients[c])
		}
		if len(hub.clients) > 0 {
			e.hubs = append(e.hubs, hub)
		}
	}
	return e
}

func (p *plan) sameCPU(e ends, placement *Placement) {
	cpus := p.threadsLast(p.cpus)
	for n, together := range slices.Concat(e.hubs, e.pairs) {
		cpu := p.m.CPUs[cpus[n%len(cpus)]].CPU
		for _, w := range slices.Concat(together.clients, together.servers) {
			placement.Workers[w].CPU = cpu
		}
	}
}

// match finds the CPUs that may be two ends under a placement, or says why
// this machine has none.
func (p *plan) match(name parsedName) (*matcher, error) {
	m, n := p.m, len(p.cpus)
	rule, err := p.rule(name)
	if err != nil {
		return nil, err
	}
	if n < 2 {
		return nil, fmt.Errorf("it needs two CPUs, and this process may use only CPU %d", m.CPUs[p.cpus[0]].CPU)
	}
	match := &matcher{plan: p, ok: make([][]bool, n), near: make([][]int, n), partners: make([]int, n), load: make([]int, n)}
	farthest := 0
	for i := range n {
		match.ok[i], match.near[i] = make([]bool, n), make([]int, n)
		for j := range n {
			a, b := p.cpus[i], p.cpus[j]
			if i == j || !rule.fits(a, b) {
				continue
			}
			_, size := m.meet(a, b)
			match.ok[i][j] = true
			match.near[i][j] = size<<20 + m.nodesApart(a, b)
			farthest = max(farthest, size)
		}
	}
	if farthest == 0 {
		return nil, fmt.Errorf("%s%s", rule.missing, p.amongAllowed())
	}
	for i := range n {
		for j := range n {
			if rule.farthest && match.near[i][j]>>20 != farthest {
				match.ok[i][j] = false
			}
			if match.ok[i][j] {
				match.partners[i]++
			}
		}
	}
	return match, nil
}

func (p *plan) amongAllowed() string {
	if len(p.cpus) < len(p.m.Online()) {
		return " among the CPUs that this process may use"
	}
	return ""
}

// rule is what a placement wants of the two CPUs (by index) of a pair.
type rule struct {
	fits     func(i, j int) bool // of two different CPUs
	farthest bool                // of those that fit, only the farthest apart are wanted
	missing  string              // what a machine lacks on which none fit
}

func (p *plan) rule(name parsedName) (rule, error) {
	m := p.m
	same := func(level Level, i, j int) bool {
		g := m.CPUs[i].group(level)
		return g != Unknown && g == m.CPUs[j].group(level)
	}
	otherCore := func(i, j int) bool { return !same(SMT, i, j) }
	tells := func(level Level) error {
		if len(m.groups[level]) == 0 {
			return fmt.Errorf("this machine does not tell its %s", plural[level])
		}
		return nil
	}
	switch name.word {
	case "split":
		several := len(p.firstThreads()) > 1
		return rule{fits: func(i, j int) bool { return !several || otherCore(i, j) }}, nil
	case "smt":
		return rule{fits: func(i, j int) bool { return same(SMT, i, j) },
			missing: "this machine has no SMT siblings"}, tells(SMT)
	case "core":
		if tells(Package) != nil { // still one package where something smaller holds both
			return rule{fits: func(i, j int) bool {
				level, _ := m.meet(i, j)
				return otherCore(i, j) && (level < Node || level == Node && m.Nodes > 1)
			}, missing: tells(Package).Error()}, nil
		}
		return rule{fits: func(i, j int) bool { return otherCore(i, j) && same(Package, i, j) },
			missing: "this machine has no two cores in one package"}, nil
	case "llc":
		return rule{fits: func(i, j int) bool { return otherCore(i, j) && same(LLC, i, j) }, farthest: true,
			missing: "no two cores of this machine share a last-level cache"}, tells(LLC)
	case "node":
		return rule{fits: func(i, j int) bool { return otherCore(i, j) && same(Node, i, j) }, farthest: true,
			missing: "this machine has no two cores on one NUMA node"}, tells(Node)
	case "package":
		return rule{fits: func(i, j int) bool { return otherCore(i, j) && same(Package, i, j) }, farthest: true,
			missing: "this machine has no two cores in one package"}, tells(Package)
	case "cross":
		return rule{fits: func(i, j int) bool {
			a, b := m.CPUs[i].Package, m.CPUs[j].Package
			return a != Unknown && b != Unknown && a != b
		}, missing: "this machine has only one package"}, tells(Package)
	case "hop":
		hops := m.Hops()
		if len(m.NodeNumbers) == 1 {
			return rule{}, fmt.Errorf("this machine has only one NUMA node")
		}
		if len(hops) == 0 {
			return rule{}, fmt.Errorf("this machine tells no distances between NUMA nodes")
		}
		if name.hop > len(hops) {
			return rule{}, fmt.Errorf("this machine has only %s of NUMA distance: %s", count(len(hops), "class", "classes"), list(hops))
		}
		return rule{fits: func(i, j int) bool { return !same(Node, i, j) && m.nodesApart(i, j) == hops[name.hop-1] },
			missing: fmt.Sprintf("this machine has no two CPUs at NUMA distance %d", hops[name.hop-1])}, nil
	}
	return rule{}, fmt.Errorf("it is not known")
}

var plural = map[Level]string{SMT: "cores", LLC: "last-level caches", Node: "NUMA nodes", Package: "packages"}

func list(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// placePairs deals the pairs out in rounds. In a round every CPU takes one
// end; who has the fewest partners left chooses first, so that nobody is left
// over who could have been matched.
func (t *matcher) placePairs(pairs []pair, placement *Placement) {
	var round []int // CPUs, two by two, in the order of choice
	for _, pair := range pairs {
		if len(round) == 0 {
			round = t.round()
		}
		a, b := round[0], round[1]
		round = round[2:]
		t.load[a]++
		t.load[b]++
		t.give(placement, pair.clients, a)
		t.give(placement, pair.servers, b)
	}
}

// round matches the least loaded CPUs with each other; where none of these
// match, one of them with the least loaded that it matches.
func (t *matcher) round() []int {
	n := len(t.load)
	least := math.MaxInt
	for i := range n {
		if t.partners[i] > 0 {
			least = min(least, t.load[i])
		}
	}
	free := make([]bool, n)
	var round []int
	for rank := 0; rank <= t.lastRank(); rank++ { // idle cores before idle siblings
		for i := range n {
			if t.partners[i] > 0 && t.load[i] == least && t.rank(i) == rank {
				free[i] = true
			}
		}
		round = append(round, t.pairUp(free)...)
	}
	if len(round) == 0 {
		a := t.best(func(i int) bool { return free[i] }, func(int) int { return 0 })
		b := t.best(func(j int) bool { return t.ok[a][j] }, t.leastLoaded(a))
		round = append(round, a, b)
	}
	return round
}

// pairUp matches free CPUs with each other until none are left that match, and
// returns them two by two.
func (t *matcher) pairUp(free []bool) []int {
	n := len(free)
	left := make([]int, n) // free partners
	for i := range n {
		if !free[i] {
			continue
		}
		for j, ok := range t.ok[i] {
			if ok && free[j] {
				left[i]++
			}
		}
	}
	var pairs []int
	for {
		a := t.best(func(i int) bool { return free[i] && left[i] > 0 }, func(i int) int { return left[i] })
		if a < 0 {
			return pairs
		}
		b := t.best(func(j int) bool { return free[j] && t.ok[a][j] }, func(j int) int { return t.near[a][j]*(n+1) + left[j] })
		pairs = append(pairs, a, b)
		for _, taken := range []int{a, b} {
			free[taken] = false
			for j, ok := range t.ok[taken] {
				if ok {
					left[j]--
				}
			}
		}
	}
}

// rank is the CPU's rank among the threads of its core.
func (t *matcher) rank(i int) int { return t.plan.rank[t.plan.cpus[i]] }

func (t *matcher) lastRank() int {
	last := 0
	for i := range t.load {
		last = max(last, t.rank(i))
	}
	return last
}

// leastLoaded prefers the less loaded, then idle cores to idle siblings, then
// the nearer to a CPU.
func (t *matcher) leastLoaded(from int) func(int) int {
	return func(j int) int { return t.load[j]<<44 + t.rank(j)<<36 + t.near[from][j] }
}

// placeHub puts a server where it has the most partners, least loaded first,
// and its clients on these partners, evenly, nearest first.
func (t *matcher) placeHub(hub pair, placement *Placement) {
	server := t.best(func(i int) bool { return t.partners[i] > 0 }, func(i int) int { return t.load[i]*len(t.load) - t.partners[i] })
	t.load[server]++
	t.give(placement, hub.servers, server)
	for _, client := range hub.clients {
		cpu := t.best(func(j int) bool { return t.ok[server][j] }, t.leastLoaded(server))
		t.load[cpu]++
		t.give(placement, []int{client}, cpu)
	}
}

// best returns the CPU of least cost among some, the first in tree order of
// those that cost the same, or -1.
func (t *matcher) best(among func(int) bool, cost func(int) int) int {
	best, least := -1, 0
	for i := range t.load {
		if !among(i) {
			continue
		}
		if c := cost(i); best < 0 || c < least {
			best, least = i, c
		}
	}
	return best
}

func (t *matcher) give(placement *Placement, workers []int, rank int) {
	for _, w := range workers {
		placement.Workers[w].CPU = t.plan.m.CPUs[t.plan.cpus[rank]].CPU
	}
}
