package profile

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The bounds of what a profile may hold.
const (
	MaxExchanges = 64
	MaxWrites    = 8        // of one side in one exchange
	MaxValues    = 32       // of one distribution
	MaxBytes     = 16 << 20 // of one write
	MaxNS        = 1e10     // of work, or of holding a lock
)

// The ways in which a side waits for what it reads.
const (
	Block = "block"         // the read blocks
	Poll  = "dontwait+poll" // the read does not; where nothing has come, poll does
)

// The kinds of a user lock.
const (
	NoLock = "none"
	Futex  = "futex" // its waiters sleep
	Spin   = "spin"  // its waiters burn CPU
)

// Profile is the shape of a conversation.
type Profile struct {
	Description string
	IO          string // how the server waits: Block or Poll
	ClientIO    string // how a client waits
	ClientRead  int    // bytes of a client's read buffer
	Header      int    // bytes of the server's first read of a request; 0: it reads all at once
	Clock       Clock  // the server's own, in each exchange
	Lock        Lock   // of the server process, taken once in each exchange
	Exchanges   []Exchange
	Notes       []string // further comments, as where the figures are from
}

// Exchange is one request and its reply.
type Exchange struct {
	Name     string
	Repeat   int    // so many in a row, in the order of the file
	Weight   int    // or: drawn at random, with this weight; 0 in order
	Request  []Dist // bytes of each of the client's writes
	Response []Dist // bytes of each of the server's writes
	Work     Dist   // ns of the server's CPU work
}

// Dist is a distribution: rising values that are equally likely, each the mean
// of an equal part of what it stands for; one value is a constant.
type Dist []int64

// Clock is the server's own time calls: so many, by the vDSO or by system call.
type Clock struct {
	Calls   int
	Syscall bool
}

// Lock is a lock of the server's own: its kind, and for how long it is held.
type Lock struct {
	Kind   string
	HoldNS int64
}

// Mean is the mean of what is drawn from d.
func (d Dist) Mean() float64 {
	if len(d) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range d {
		sum += float64(v)
	}
	return sum / float64(len(d))
}

// Max is the greatest value that d can give.
func (d Dist) Max() int64 {
	if len(d) == 0 {
		return 0
	}
	return d[len(d)-1]
}

func (d Dist) String() string {
	parts := make([]string, len(d))
	for i, v := range d {
		parts[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(parts, "/")
}

func (c Clock) String() string {
	switch {
	case c.Calls == 0:
		return "0"
	case c.Syscall:
		return fmt.Sprintf("%d:syscall", c.Calls)
	}
	return fmt.Sprintf("%d:vdso", c.Calls)
}

func (l Lock) String() string {
	if l.Kind == NoLock {
		return NoLock
	}
	return fmt.Sprintf("%s:%d", l.Kind, l.HoldNS)
}

// ParseClock reads N:vdso, N:syscall or 0.
func ParseClock(s string) (Clock, error) {
	count, kind, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > 1000 || (n > 0) != (kind == "vdso" || kind == "syscall") || n == 0 && s != "0" {
		return Clock{}, fmt.Errorf("%q is none of 0, N:vdso, N:syscall with N from 1 to 1000", s)
	}
	return Clock{n, kind == "syscall"}, nil
}

// ParseLock reads none, futex:NS or spin:NS.
func ParseLock(s string) (Lock, error) {
	if s == NoLock {
		return Lock{Kind: NoLock}, nil
	}
	kind, hold, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(hold, 10, 64)
	if err != nil || n < 0 || n > MaxNS || kind != Futex && kind != Spin {
		return Lock{}, fmt.Errorf("%q is none of none, futex:NS, spin:NS", s)
	}
	return Lock{kind, n}, nil
}

// ParseDist reads values joined by slashes: at least least, at most greatest,
// and never falling.
func ParseDist(s string, least, greatest int64) (Dist, error) {
	var d Dist
	for _, part := range strings.Split(s, "/") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < least || n > greatest {
			return nil, fmt.Errorf("%q is not a number from %d to %d", part, least, greatest)
		}
		if len(d) > 0 && n < d[len(d)-1] {
			return nil, fmt.Errorf("values fall from %d to %d", d[len(d)-1], n)
		}
		d = append(d, n)
	}
	if len(d) > MaxValues {
		return nil, fmt.Errorf("%d values; %d are the most", len(d), MaxValues)
	}
	return d, nil
}

// Parse reads the text of a profile. Errors name the line.
func Parse(text string) (*Profile, error) {
	p := &Profile{IO: Block, ClientIO: Block, ClientRead: 16384, Lock: Lock{Kind: NoLock}}
	var x *Exchange
	seen := map[string]bool{}
	described := false
	sc := bufio.NewScanner(strings.NewReader(text))
	n := 0
	for sc.Scan() {
		n++
		line := strings.TrimSpace(sc.Text())
		if note, ok := strings.CutPrefix(line, "#"); ok {
			note = strings.TrimSpace(note)
			if !described {
				p.Description = strings.TrimSpace(p.Description + " " + note)
			} else if note != "" {
				p.Notes = append(p.Notes, note)
			}
			continue
		}
		described = described || p.Description != ""
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		key, values := fields[0], fields[1:]
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s: %s", n, key, fmt.Sprintf(format, args...))
		}
		if key == "exchange" {
			seen = map[string]bool{}
		}
		if seen[key] {
			return nil, wrong("stands twice")
		}
		seen[key] = true
		var err error
		switch {
		case key == "exchange":
			if len(values) != 1 {
				return nil, wrong("takes one word, the exchange's name")
			}
			p.Exchanges = append(p.Exchanges, Exchange{Name: values[0], Work: Dist{0}})
			x = &p.Exchanges[len(p.Exchanges)-1]
			continue
		case key == "request" || key == "response":
			if x == nil {
				return nil, wrong("belongs behind an exchange")
			}
			if len(values) == 0 || len(values) > MaxWrites {
				return nil, wrong("takes the bytes of 1 to %d writes", MaxWrites)
			}
			for _, v := range values {
				d, err := ParseDist(v, 1, MaxBytes)
				if err != nil {
					return nil, wrong("%v", err)
				}
				if key == "request" {
					x.Request = append(x.Request, d)
				} else {
					x.Response = append(x.Response, d)
				}
			}
			continue
		}
		if len(values) != 1 {
			return nil, wrong("takes one value")
		}
		v := values[0]
		number := func(to *int, least, greatest int) {
			if *to, err = strconv.Atoi(v); err != nil || *to < least || *to > greatest {
				err = fmt.Errorf("%q is not a number from %d to %d", v, least, greatest)
			}
		}
		choice := func(to *string) {
			if *to = v; v != Block && v != Poll {
				err = fmt.Errorf("%q is neither %s nor %s", v, Block, Poll)
			}
		}
		switch {
		case x == nil && key == "io":
			choice(&p.IO)
		case x == nil && key == "client-io":
			choice(&p.ClientIO)
		case x == nil && key == "client-read":
			number(&p.ClientRead, 1, MaxBytes)
		case x == nil && key == "header":
			number(&p.Header, 0, 4096)
		case x == nil && key == "clock":
			p.Clock, err = ParseClock(v)
		case x == nil && key == "lock":
			p.Lock, err = ParseLock(v)
		case x != nil && key == "repeat":
			number(&x.Repeat, 1, 1_000_000)
		case x != nil && key == "weight":
			number(&x.Weight, 1, 1_000_000_000)
		case x != nil && key == "work":
			x.Work, err = ParseDist(v, 0, MaxNS)
		default:
			where := "before the first exchange: io, client-io, client-read, header, clock, lock"
			if x != nil {
				where = "in an exchange: repeat, weight, request, response, work"
			}
			return nil, wrong("is not known here; there are, %s", where)
		}
		if err != nil {
			return nil, wrong("%v", err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return p, p.check()
}

func (p *Profile) check() error {
	if len(p.Exchanges) == 0 || len(p.Exchanges) > MaxExchanges {
		return fmt.Errorf("%d exchanges: a profile has 1 to %d", len(p.Exchanges), MaxExchanges)
	}
	weighted := p.Weighted()
	for i := range p.Exchanges {
		x := &p.Exchanges[i]
		switch {
		case len(x.Request) == 0 || len(x.Response) == 0:
			return fmt.Errorf("exchange %s: it needs a request and a response", x.Name)
		case x.Weight > 0 && x.Repeat > 0:
			return fmt.Errorf("exchange %s: weight draws at random, repeat keeps the order: give one of the two", x.Name)
		case weighted && x.Weight == 0:
			return fmt.Errorf("exchange %s: others have a weight, so it needs one", x.Name)
		case !weighted && x.Repeat == 0:
			x.Repeat = 1
		}
	}
	return nil
}

// Weighted reports whether exchanges are drawn at random; else they go in order.
func (p *Profile) Weighted() bool {
	return slices.ContainsFunc(p.Exchanges, func(x Exchange) bool { return x.Weight > 0 })
}

// share is how often an exchange is played: its weight, or its repeats.
func (x *Exchange) share() float64 { return float64(max(x.Weight, x.Repeat)) }

// mean is the mean of f over the exchanges that are played.
func (p *Profile) mean(f func(*Exchange) float64) float64 {
	sum, all := 0.0, 0.0
	for i := range p.Exchanges {
		x := &p.Exchanges[i]
		sum += x.share() * f(x)
		all += x.share()
	}
	return sum / all
}

func meanOf(ds []Dist) (sum float64) {
	for _, d := range ds {
		sum += d.Mean()
	}
	return sum
}

// RequestBytes is the mean size of a request.
func (p *Profile) RequestBytes() float64 {
	return p.mean(func(x *Exchange) float64 { return meanOf(x.Request) })
}

// ResponseBytes is the mean size of a reply.
func (p *Profile) ResponseBytes() float64 {
	return p.mean(func(x *Exchange) float64 { return meanOf(x.Response) })
}

// WorkNS is the server's mean CPU work for an exchange.
func (p *Profile) WorkNS() float64 {
	return p.mean(func(x *Exchange) float64 { return x.Work.Mean() })
}

// ScaleWork stretches the work of all exchanges so that its mean is ns: what is
// measured under strace is too long, and this is how a better mean goes in.
func (p *Profile) ScaleWork(ns float64) {
	mean := p.WorkNS()
	for i := range p.Exchanges {
		x := &p.Exchanges[i]
		if mean == 0 {
			x.Work = Dist{int64(ns)}
			continue
		}
		scaled := make(Dist, len(x.Work))
		for j, v := range x.Work {
			scaled[j] = min(int64(math.Round(float64(v)*ns/mean)), MaxNS)
		}
		x.Work = scaled
	}
}

// Cycle is the number of exchanges after which the order begins anew; 0 where
// they are drawn at random.
func (p *Profile) Cycle() int {
	if p.Weighted() {
		return 0
	}
	n := 0
	for _, x := range p.Exchanges {
		n += x.Repeat
	}
	return n
}

// Buffer is how many bytes the longest request, reply or read takes.
func (p *Profile) Buffer() int {
	most := int64(max(p.ClientRead, p.Header))
	for _, x := range p.Exchanges {
		for _, ds := range [][]Dist{x.Request, x.Response} {
			var sum int64
			for _, d := range ds {
				sum += d.Max()
			}
			most = max(most, sum)
		}
	}
	return int(most)
}

// Format writes p as Parse reads it.
func (p *Profile) Format() string {
	var b strings.Builder
	if p.Description != "" {
		for _, line := range wrap(p.Description, 76) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		b.WriteString("\n")
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "# %s\n", note)
	}
	b.WriteString(p.settings())
	for _, x := range p.Exchanges {
		fmt.Fprintf(&b, "\nexchange %s\n", x.Name)
		if x.Weight > 0 {
			fmt.Fprintf(&b, "  weight %d\n", x.Weight)
		} else if x.Repeat > 1 {
			fmt.Fprintf(&b, "  repeat %d\n", x.Repeat)
		}
		fmt.Fprintf(&b, "  request %s\n", list(x.Request))
		fmt.Fprintf(&b, "  response %s\n", list(x.Response))
		if x.Work.Max() > 0 {
			fmt.Fprintf(&b, "  work %s\n", x.Work)
		}
	}
	return b.String()
}

func (p *Profile) settings() string {
	return fmt.Sprintf("io %s\nclient-io %s\nclient-read %d\nheader %d\nclock %s\nlock %s\n",
		p.IO, p.ClientIO, p.ClientRead, p.Header, p.Clock, p.Lock)
}

func list(ds []Dist) string {
	var parts []string
	for _, d := range ds {
		parts = append(parts, d.String())
	}
	return strings.Join(parts, " ")
}

// Hash names what p does, whatever its comments say.
func (p *Profile) Hash() string {
	q := *p
	q.Description, q.Notes = "", nil
	sum := sha256.Sum256([]byte(q.Format()))
	return hex.EncodeToString(sum[:6])
}

// distribution parts the sorted values into at most n equal parts and keeps the
// mean of each.
func distribution(values []int64, n int) Dist {
	if len(values) == 0 {
		return Dist{0}
	}
	slices.Sort(values)
	if values[0] == values[len(values)-1] {
		return Dist{values[0]}
	}
	n = min(n, len(values))
	d := make(Dist, n)
	for i := range d {
		part := values[i*len(values)/n : (i+1)*len(values)/n]
		d[i] = int64(math.Round(float64(sum(part)) / float64(len(part))))
	}
	return d
}

// wrap breaks text at blanks into lines of at most width.
func wrap(text string, width int) []string {
	var lines []string
	at := ""
	for _, word := range strings.Fields(text) {
		if at != "" && len(at)+1+len(word) > width {
			lines, at = append(lines, at), ""
		}
		if at != "" {
			at += " "
		}
		at += word
	}
	return append(lines, at)
}
