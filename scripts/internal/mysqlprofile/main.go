// Command mysqlprofile is the measuring part of scripts/mysql-profile.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"udsbench/record"
)

var (
	udsbench = flag.String("udsbench", "", "the program")
	seconds  = flag.Int("seconds", 3, "length of each measurement, from 2")
	rounds   = flag.Int("rounds", 3, "of throughput, MariaDB and replay in turn; 0: calls and bytes alone")
	keep     = flag.String("keep", "", "directory to keep the recorded profiles in")
)

var clients = []int{1, 10, 50}

func main() {
	runtime.LockOSThread() // the server ends with the thread that started it
	flag.Parse()
	if *seconds < 2 || *rounds < 0 {
		fmt.Fprintln(os.Stderr, "mysql-profile: --seconds takes 2 or more, --rounds 0 or more")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mysql-profile:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "udsbench-mysql")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := startServer(dir)
	if err != nil {
		return err
	}
	defer s.stop()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stop
		s.stop()
		os.RemoveAll(dir)
		os.Exit(130)
	}()
	version, err := exec.Command("mariadbd", "--version").Output()
	if err != nil {
		return err
	}
	uname, _ := exec.Command("uname", "-srm").Output()
	fmt.Printf("%s%s%s, %d CPUs; %d s a measurement", version, uname[:len(uname)-1], cpu(), cpus(), *seconds)
	if *rounds > 0 {
		fmt.Printf(", medians of %d", *rounds)
	}
	fmt.Println()
	if _, err := s.sysbench("oltp_point_select", "unix", 1, "prepare"); err != nil {
		return err
	}
	honest := true
	for _, test := range []string{"oltp_point_select", "oltp_read_only"} {
		ok, err := compare(s, test, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", test, err)
		}
		honest = honest && ok
	}
	if !honest {
		return errors.New("the replay is not honest: see above")
	}
	return nil
}

// server is a MariaDB of our own.
type server struct {
	cmd    *exec.Cmd
	dir    string
	socket string
	port   int
}

func startServer(dir string) (*server, error) {
	s := &server{dir: dir, socket: filepath.Join(dir, "socket"), port: freePort()}
	me := "--user=root"
	if os.Getuid() != 0 {
		me = "--user=" + os.Getenv("USER")
	}
	install := exec.Command("mariadb-install-db", "--no-defaults", me, "--datadir="+dir+"/data",
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if text, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w: %s", err, text)
	}
	s.cmd = exec.Command("mariadbd", "--no-defaults", me, "--datadir="+dir+"/data", "--socket="+s.socket,
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", s.port), "--skip-log-bin", "--skip-name-resolve",
		"--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=0", "--max-connections=200")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 300 {
		if err = s.sql("create database if not exists sbtest"); err == nil {
			return s, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.stop()
	text, _ := os.ReadFile(filepath.Join(dir, "log"))
	return nil, fmt.Errorf("mariadbd did not come up: %w\n%s", err, text)
}

func (s *server) sql(statement string) error {
	text, err := exec.Command("mariadb", "--no-defaults", "-S", s.socket, "-u", "root", "-e", statement).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

func (s *server) stop() {
	if s.cmd.Process != nil {
		s.cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan bool)
		go func() { s.cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			s.cmd.Process.Kill()
		}
	}
}

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 33306
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) sysbenchCommand(test, transport string, threads int, command string) *exec.Cmd {
	where := []string{"--mysql-socket=" + s.socket}
	if transport == "tcp" {
		where = []string{"--mysql-host=127.0.0.1", fmt.Sprintf("--mysql-port=%d", s.port)}
	}
	return exec.Command("sysbench", append(where, test, "--mysql-user=root", "--tables=1", "--table-size=10000",
		fmt.Sprintf("--threads=%d", threads), fmt.Sprintf("--time=%d", *seconds), command)...)
}

var queriesLine = regexp.MustCompile(`queries: +(\d+) +\((\d+\.\d+) per sec`)

// sysbench returns queries a second.
func (s *server) sysbench(test, transport string, threads int, command string) (float64, error) {
	text, err := s.sysbenchCommand(test, transport, threads, command).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("sysbench: %w: %s", err, text)
	}
	if command != "run" {
		return 0, nil
	}
	return queries(text)
}

func queries(text []byte) (float64, error) {
	m := queriesLine.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("sysbench printed no rate: %s", text)
	}
	return strconv.ParseFloat(string(m[2]), 64)
}

// usage is what the threads of a process have used until now.
type usage struct {
	switches float64
	user     time.Duration
}

func usageOf(pid int) (u usage) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, t := range tasks {
		text, _ := os.ReadFile(t)
		for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
			if name, value, _ := strings.Cut(sc.Text(), ":"); strings.HasSuffix(name, "ctxt_switches") {
				n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
				u.switches += n
			}
		}
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(text, ')'); i > 0 {
		if f := bytes.Fields(text[i+1:]); len(f) > 12 {
			ticks, _ := strconv.ParseFloat(string(f[11]), 64)
			u.user = time.Duration(ticks / 100 * 1e9) // USER_HZ is 100 on every architecture that Go has
		}
	}
	return u
}

// side is what one of the two did for a query.
type side struct {
	calls, waits float64 // system calls of the server, and those of them that only wait
	in, out      float64 // bytes
	switches     float64
	rates        map[load][]float64 // exchanges a second, one for each round
}

// load is one measurement of throughput.
type load struct {
	transport string
	clients   int
}

func (s *side) take(r recorded) {
	s.calls, s.waits = r.Calls-r.Seen.Waits, r.Seen.Waits
	s.in, s.out = r.Seen.RequestBytes, r.Seen.ResponseBytes
}

func (s *side) rate(transport string, clients int) float64 {
	v := slices.Sorted(slices.Values(s.rates[load{transport, clients}]))
	return v[len(v)/2]
}

type recorded struct {
	Seen struct {
		RequestBytes, ResponseBytes, Waits float64
	} `json:"seen"`
	Calls float64 `json:"calls"`
}

// record attaches to a process for a second.
func recordProfile(pid int, args ...string) (r recorded, err error) {
	c := exec.Command(*udsbench, append([]string{"profile", "record", "--json", "--pid", strconv.Itoa(pid), "--seconds", "1"}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return r, fmt.Errorf("profile record: %w: %s", err, stderr.Bytes())
	}
	return r, json.Unmarshal(text, &r)
}

// recordClients is how many clients the server has while it is recorded: with
// one, what a tracer does to the pace does not change what the server calls.
const recordClients = 1

const switchClients = 4

// measureServer measures MariaDB, and records its profile to path.
func measureServer(s *server, test, path string) (*side, error) {
	x := &side{rates: map[load][]float64{}}
	// What a query costs without a tracer: switches of both processes, and the
	// server's user time, which is the work that a replay has to do.
	c := s.sysbenchCommand(test, "unix", switchClients, "run")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return nil, err
	}
	time.Sleep(time.Second)
	a, b, began := usageOf(s.cmd.Process.Pid), usageOf(c.Process.Pid), time.Now()
	time.Sleep(time.Duration(*seconds)*time.Second - 1500*time.Millisecond)
	a1, b1, took := usageOf(s.cmd.Process.Pid), usageOf(c.Process.Pid), time.Since(began).Seconds()
	if err := c.Wait(); err != nil {
		return nil, fmt.Errorf("sysbench: %w: %s", err, out.Bytes())
	}
	rate, err := queries(out.Bytes())
	if err != nil {
		return nil, err
	}
	x.switches = (a1.switches - a.switches + b1.switches - b.switches) / took / rate
	work := float64(a1.user-a.user) / took / rate

	c = s.sysbenchCommand(test, "unix", recordClients, "run")
	if err := c.Start(); err != nil {
		return nil, err
	}
	time.Sleep(time.Second)
	r, err := recordProfile(s.cmd.Process.Pid, "--out", path, "--client-io", "dontwait+poll",
		"--work", fmt.Sprintf("%.0f", work), "--description", "MariaDB under sysbench "+test+".")
	if err != nil {
		return nil, errors.Join(err, c.Wait())
	}
	if err := c.Wait(); err != nil {
		return nil, err
	}
	x.take(r)
	return x, nil
}

// throughput measures both in turn, so that what the machine does meanwhile
// falls on both alike.
func throughput(s *server, test, path, dir string, real, replay *side) error {
	for range *rounds {
		for _, n := range clients {
			for _, transport := range []string{"unix", "tcp"} {
				rate, err := s.sysbench(test, transport, n, "run")
				if err != nil {
					return err
				}
				run, err := play(path, dir, transport, n)
				if err != nil {
					return err
				}
				l := load{transport, n}
				real.rates[l] = append(real.rates[l], rate)
				replay.rates[l] = append(replay.rates[l], *run.OpsPerS)
			}
		}
	}
	return nil
}

// play runs the profile once.
func play(path, dir, transport string, clients int) (*record.Run, error) {
	out := filepath.Join(dir, "session")
	defer os.RemoveAll(out)
	if transport == "unix" {
		transport = "unix-stream"
	}
	c := exec.Command(*udsbench, "run", "--json", "--workload", "profile:"+path, "--transport", transport, "--model", "thread",
		"--parallel", strconv.Itoa(clients), "--runs", "1", "--window", fmt.Sprintf("%ds", *seconds), "--out", out)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("replay: %w: %s", err, stderr.Bytes())
	}
	r := new(record.Run)
	return r, json.Unmarshal(text, r)
}

// measureReplay measures the profile in the same way.
func measureReplay(path, dir string) (*side, error) {
	x := &side{rates: map[load][]float64{}}
	out := filepath.Join(dir, "traced")
	defer os.RemoveAll(out)
	c := exec.Command(*udsbench, "run", "--json", "--workload", "profile:"+path, "--parallel", strconv.Itoa(recordClients),
		"--model", "thread", "--runs", "1", "--window", "3s", "--out", out)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	time.Sleep(1200 * time.Millisecond)
	pid, err := serverOf(c.Process.Pid)
	if err == nil {
		var r recorded
		if r, err = recordProfile(pid); err == nil {
			x.take(r)
		}
	}
	if werr := c.Wait(); err != nil || werr != nil {
		return nil, errors.Join(err, werr, errors.New(stderr.String()))
	}
	r, err := play(path, dir, "unix", switchClients)
	if err != nil {
		return nil, err
	}
	for _, role := range r.Roles {
		x.switches += float64(role.Switches.Voluntary+role.Switches.Involuntary) / float64(role.Ops)
	}
	return x, nil
}

// serverOf finds the server process of a run: the worker process among the
// run's descendants that holds a listener's connections, which is the second of
// the two that have a thread for each client.
func serverOf(run int) (int, error) {
	var found []int
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range procs {
		text, _ := os.ReadFile(path)
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if bytes.Contains(text, []byte("__worker")) && parent(pid) == run {
			found = append(found, pid)
		}
	}
	if len(found) != 2 {
		return 0, fmt.Errorf("%d worker processes of the replay, want 2", len(found))
	}
	// The server's sockets have its path as their own name; its clients' have none.
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return 0, err
	}
	named := map[string]bool{}
	for _, line := range strings.Split(string(table), "\n") {
		if f := strings.Fields(line); len(f) == 8 && strings.HasSuffix(f[7], "/s0") {
			named["socket:["+f[6]+"]"] = true
		}
	}
	for _, pid := range found {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, l := range links {
			if to, _ := os.Readlink(l); named[to] {
				return pid, nil
			}
		}
	}
	return 0, errors.New("no worker process of the replay holds the server's sockets")
}

func parent(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(text, ')'); i > 0 {
		if f := bytes.Fields(text[i+1:]); len(f) > 1 {
			n, _ := strconv.Atoi(string(f[1]))
			return n
		}
	}
	return 0
}

func compare(s *server, test, dir string) (honest bool, err error) {
	path := filepath.Join(dir, test+".profile")
	real, err := measureServer(s, test, path)
	if err != nil {
		return false, err
	}
	replay, err := measureReplay(path, dir)
	if err != nil {
		return false, err
	}
	if err := throughput(s, test, path, dir, real, replay); err != nil {
		return false, err
	}
	if *keep != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			if err = os.MkdirAll(*keep, 0o755); err == nil {
				err = os.WriteFile(filepath.Join(*keep, test+".profile"), text, 0o644)
			}
		}
		if err != nil {
			return false, err
		}
	}
	fmt.Printf("\n%-34s %12s %12s %12s\n", test, "MariaDB", "replay", "difference")
	row := func(name string, a, b float64, format string) {
		fmt.Printf("%-34s %12s %12s %+10.1f %%\n", name, fmt.Sprintf(format, a), fmt.Sprintf(format, b), 100*(b/a-1))
	}
	row("system calls a query (server)", real.calls, replay.calls, "%.3f")
	fmt.Printf("%-34s %12.3f %12.3f\n", "  and calls that wait for it", real.waits, replay.waits)
	row("bytes a query, request", real.in, replay.in, "%.1f")
	row("bytes a query, reply", real.out, replay.out, "%.1f")
	row(fmt.Sprintf("switches a query, both (%d clients)", switchClients), real.switches, replay.switches, "%.2f")
	agree := true
	for _, transport := range []string{"unix", "tcp"} {
		for _, n := range clients {
			if *rounds == 0 {
				continue
			}
			row(fmt.Sprintf("queries/s, %s, %d clients", transport, n), real.rate(transport, n), replay.rate(transport, n), "%.0f")
		}
	}
	for _, n := range clients {
		if *rounds == 0 {
			continue
		}
		a, b := real.rate("unix", n)/real.rate("tcp", n), replay.rate("unix", n)/replay.rate("tcp", n)
		row(fmt.Sprintf("UNIX/TCP, %d clients", n), a, b, "%.2f")
		agree = agree && real.direction(n)*replay.direction(n) >= 0
	}
	near := func(a, b float64) bool { return math.Abs(b/a-1) <= 0.01 }
	calls, bytes := near(real.calls, replay.calls), near(real.in, replay.in) && near(real.out, replay.out)
	fmt.Printf("honest: calls within 1 %%: %s; bytes within 1 %%: %s", yes(calls), yes(bytes))
	if *rounds > 0 {
		fmt.Printf("; UNIX/TCP not in opposite directions where all rounds of both have one: %s", yes(agree))
	}
	fmt.Println()
	return calls && bytes && agree, nil
}

// direction says whether UNIX was faster (1) or slower (-1) than TCP in every
// round; 0 where the rounds do not agree among themselves.
func (s *side) direction(clients int) int {
	all := 0
	for i, unix := range s.rates[load{"unix", clients}] {
		if unix > s.rates[load{"tcp", clients}][i] {
			all++
		} else {
			all--
		}
	}
	switch all {
	case *rounds:
		return 1
	case -*rounds:
		return -1
	}
	return 0
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return ", " + strings.TrimSpace(value)
		}
	}
	return ""
}

func cpus() int {
	text, _ := exec.Command("nproc").Output()
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
