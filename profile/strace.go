package profile

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Seen is what a log held, beside the profile that was made of it.
type Seen struct {
	Connections   int
	Processes     int // that served them: threads with one descriptor table are one
	Exchanges     int
	Calls         map[string]float64 // system calls an exchange, by name: on its connection, and between these by the threads that made them
	Waits         float64            // of them: reads that found nothing yet, and the polls after them; they follow the clients' pace
	Elsewhere     int                // calls of the log that belong to no exchange, as those of other threads
	RequestBytes  float64            // mean
	ResponseBytes float64
	ReadNS        int64 // that strace lets pass between two calls with nothing between them; taken off the work
}

// AllCalls is the system calls of an exchange.
func (s *Seen) AllCalls() (sum float64) {
	for _, n := range s.Calls {
		sum += n
	}
	return sum
}

func sum(ns []int64) (all int64) {
	for _, n := range ns {
		all = min(all+n, 1<<55) // no true log adds up to that
	}
	return all
}

// FromStrace makes a profile of the log of a server that was written by strace -f
// -ttt -T -e trace=network,desc and what makes processes and threads (or attached
// to with those; -y lets it tell sockets from other files). Connections are told
// apart by process and descriptor, through fork, dup and close; exchanges by a
// read that follows a write. Sizes and the time from the last read to the first
// write become distributions. Where connections go through the same exchanges over
// and over, the profile keeps their order; else it draws them by their frequency.
func FromStrace(r io.Reader) (*Profile, *Seen, error) {
	calls, lines, err := readLog(r)
	if err != nil {
		return nil, nil, err
	}
	if lines == 0 {
		return nil, nil, fmt.Errorf("no line of it is strace's with -ttt: record with strace -f -ttt -T -e trace=network,desc")
	}
	l := follow(calls, nil)
	if l.strange > 1 { // once may be two calls that overlap
		return nil, nil, fmt.Errorf("%s; record with clone, clone3, fork and vfork among the calls, or with strace -y", l.split)
	}
	// Again, now that it is known which descriptors are conversations: what a
	// thread does on others meanwhile belongs to its exchange.
	l = follow(calls, l.conversations())
	var conns []*conn
	for _, c := range l.conns {
		if !c.not {
			conns = append(conns, c)
		}
	}
	var all []exchange
	processes := map[*table]bool{}
	seen := &Seen{Connections: len(conns), Calls: map[string]float64{}}
	waits, dontWait, counted := 0, false, 0
	for _, c := range conns {
		all = append(all, c.done...)
		waits += c.kept.waits
		dontWait = dontWait || c.dontWait
		for t := range c.servers {
			processes[t] = true
		}
	}
	if len(all) == 0 {
		hidden := ""
		if l.uring {
			hidden = " The server uses io_uring, and what goes by it is in no log of system calls."
		}
		return nil, nil, fmt.Errorf("%d calls, but no exchange of request and reply among them: was the server asked anything meanwhile?%s", lines, hidden)
	}
	if len(l.gaps) > 0 {
		slices.Sort(l.gaps)
		seen.ReadNS = max(l.gaps[len(l.gaps)/2], 0)
	}
	seen.Processes = len(processes)
	seen.Exchanges = len(all)
	seen.Waits = float64(waits) / float64(len(all))
	for _, c := range conns {
		for name, n := range c.kept.calls {
			seen.Calls[name] += float64(n) / float64(len(all))
			counted += n
		}
	}
	seen.Elsewhere = l.calls - counted
	for _, x := range all {
		seen.RequestBytes += float64(sum(x.reads)) / float64(len(all))
		seen.ResponseBytes += float64(sum(x.writes)) / float64(len(all))
	}
	p := &Profile{IO: Block, ClientIO: Block, ClientRead: 16384, Lock: Lock{Kind: NoLock}, Header: header(all)}
	if dontWait || waits > 0 {
		p.IO = Poll
	}
	var order [][]string
	p.Exchanges, order = classes(conns, seen.ReadNS)
	if cycle := inOrder(p.Exchanges, order); cycle != nil {
		p.Exchanges = cycle
	}
	of := ""
	if seen.Processes > 1 {
		of = fmt.Sprintf(" of %d processes", seen.Processes)
	}
	p.Notes = append(p.Notes, fmt.Sprintf("seen: %d exchanges on %d connections%s; %.3f calls an exchange, of the threads that serve it (%s)",
		seen.Exchanges, seen.Connections, of, seen.AllCalls(), seen.CallText()))
	return p, seen, p.check()
}

// CallText lists the calls of an exchange, the most frequent first.
func (s *Seen) CallText() string {
	var names []string
	for name := range s.Calls {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Calls[b], s.Calls[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		if s.Calls[name] >= 0.0005 {
			parts = append(parts, fmt.Sprintf("%s %.3f", name, s.Calls[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// header is the size of the first read where nearly all requests begin with one
// of that size and go on; 0 where they do not.
func header(all []exchange) int {
	sizes := map[int64]int{}
	for _, x := range all {
		if len(x.reads) > 1 {
			sizes[x.reads[0]]++
		}
	}
	for size, n := range sizes {
		if n*10 >= len(all)*9 && size <= 64 {
			return int(size)
		}
	}
	return 0
}

// maxClasses bounds the exchanges that a recorded profile tells apart.
const maxClasses = 32

// classes puts exchanges of one shape together: the same sizes, or where there
// are too many different ones, nearly the same. free is taken off each think
// time. The order is that of the classes' names on each connection.
func classes(conns []*conn, free int64) (out []Exchange, order [][]string) {
	var all []exchange
	for _, c := range conns {
		all = append(all, c.done...)
	}
	type class struct {
		name string
		all  []exchange
	}
	group := func(key func(exchange) string) []*class {
		found := map[string]*class{}
		var order []*class
		for _, x := range all {
			k := key(x)
			if found[k] == nil {
				found[k] = &class{name: k}
				order = append(order, found[k])
			}
			found[k].all = append(found[k].all, x)
		}
		slices.SortStableFunc(order, func(a, b *class) int { return cmp.Compare(len(b.all), len(a.all)) })
		return order
	}
	writes := func(x exchange) int { return min(len(x.writes), MaxWrites) }
	exact := func(x exchange) string {
		return fmt.Sprintf("%d-to-%d.%d", sum(x.reads), sum(x.writes), writes(x))
	}
	octave := func(n int64) int { return int(math.Round(2 * math.Log2(float64(n)))) }
	near := func(x exchange) string {
		return fmt.Sprintf("about-%d-to-%d.%d", 1<<(octave(sum(x.reads))/2), 1<<(octave(sum(x.writes))/2), writes(x))
	}
	found := group(exact)
	if len(found) > maxClasses {
		found = group(near)
	}
	if len(found) > maxClasses {
		rest := &class{name: "other.1"}
		for _, c := range found[maxClasses-1:] {
			rest.all = append(rest.all, c.all...)
		}
		found = append(found[:maxClasses-1], rest)
	}
	key, known := exact, map[string]string{}
	if len(found) > 0 && strings.HasPrefix(found[0].name, "about-") {
		key = near
	}
	taken := map[string]bool{}
	for _, c := range found {
		name, parts, _ := strings.Cut(c.name, ".")
		if taken[name] {
			name += "-in-" + parts
		}
		taken[name], known[c.name] = true, name
		x := Exchange{Name: name, Weight: len(c.all)}
		var request, think []int64
		n := MaxWrites
		for _, e := range c.all {
			request = append(request, min(sum(e.reads), MaxBytes))
			think = append(think, min(max(e.think-free, 0), MaxNS))
			n = min(n, writes(e))
		}
		x.Request = []Dist{distribution(request, MaxValues)}
		// The longest hundredth is not the server's work but what kept it from it.
		slices.Sort(think)
		x.Work = distribution(think[:len(think)-len(think)/100], 20)
		for i := range n {
			var sizes []int64
			for _, e := range c.all {
				if i == n-1 {
					sizes = append(sizes, min(sum(e.writes[i:]), MaxBytes)) // what is more goes with the last
				} else {
					sizes = append(sizes, min(e.writes[i], MaxBytes))
				}
			}
			x.Response = append(x.Response, distribution(sizes, MaxValues))
		}
		if len(found) == 1 {
			x.Weight, x.Repeat = 0, 1
		}
		out = append(out, x)
	}
	for _, c := range conns {
		var names []string
		for _, x := range c.done {
			names = append(names, cmp.Or(known[key(x)], "other"))
		}
		order = append(order, names)
	}
	return out, order
}

// inOrder gives the exchanges in the order in which connections go through them
// over and over, as the statements of a transaction; nil where they do not.
func inOrder(kinds []Exchange, order [][]string) []Exchange {
	const most = 1024 // exchanges in a cycle
	for period := 2; period <= most; period++ {
		same, all := 0, 0
		var example []string
		for _, names := range order {
			if len(names) < 3*period {
				continue
			}
			for i := period; i < len(names); i++ {
				all++
				if names[i] == names[i-period] {
					same++
				}
			}
			if example == nil {
				example = names[len(names)-period:]
			}
		}
		if all == 0 {
			return nil
		}
		if same*100 < all*99 {
			continue
		}
		// Begin where one kind gives way to another, the rarest first.
		count := map[string]int{}
		for _, name := range example {
			count[name]++
		}
		start := -1
		for i, name := range example {
			if name != example[(i+period-1)%period] && (start < 0 || count[name] < count[example[start]]) {
				start = i
			}
		}
		if start < 0 {
			return nil
		}
		var out []Exchange
		for i := range period {
			name := example[(start+i)%period]
			if n := len(out); n > 0 && out[n-1].Name == name {
				out[n-1].Repeat++
				continue
			}
			j := slices.IndexFunc(kinds, func(x Exchange) bool { return x.Name == name })
			if j < 0 {
				return nil
			}
			x := kinds[j]
			x.Weight, x.Repeat = 0, 1
			out = append(out, x)
		}
		if len(out) > MaxExchanges {
			return nil
		}
		return out
	}
	return nil
}
