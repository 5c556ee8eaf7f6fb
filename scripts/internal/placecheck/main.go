// Command placecheck runs a small load under every placement that there is and
// reads from the kernel where each thread may run and where it did run. It is
// booted in virtual machines of known shapes, and then its own init. Linux
// only.
//
//	placecheck
//
// It prints a line a placement: "NAME ok", "NAME refused: why" or "NAME WRONG:
// what". The exit status is 1 where one is wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"udsbench/affinity"
	"udsbench/janitor"
	"udsbench/pid1"
	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/runner"
	"udsbench/topology"
)

const pairs = 4

func main() {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case pingpong.WorkerArg:
			os.Exit(pingpong.WorkerMain())
		case janitor.Arg:
			janitor.Main(os.Args[2])
		}
	}
	if pid1.Active() {
		os.Exit(pid1.Main())
	}
	os.Exit(run())
}

func run() int {
	m, err := topology.Live()
	if err != nil {
		fmt.Println("WRONG: topology:", err)
		return 1
	}
	fmt.Printf("machine: %d packages, %d nodes, %d cores, %d CPUs, allowed %s\n",
		m.Packages, m.Nodes, m.Cores, len(m.Online()), affinity.FormatList(m.Allowed()))
	status := 0
	for _, name := range names(m) {
		switch why, err := check(m, name); {
		case err != nil:
			fmt.Printf("%s WRONG: %v\n", name, err)
			status = 1
		case why != "":
			fmt.Printf("%s refused: %s\n", name, why)
		default:
			fmt.Printf("%s ok\n", name)
		}
	}
	return status
}

// names are the placements, with values of this machine where they take some.
func names(m *topology.Machine) (all []string) {
	allowed := m.Allowed()
	first, last := allowed[0], allowed[len(allowed)-1]
	for _, p := range topology.Placements() {
		switch name := p[0]; name {
		case "opteron", "htt", "matrix": // ladders of the others
		case "cpus=LIST":
			all = append(all, fmt.Sprintf("cpus=%d+%d", last, first))
		case "server=LIST;client=LIST":
			all = append(all, fmt.Sprintf("server=%d;client=%s", last, affinity.FormatValue(allowed[:len(allowed)-1])))
		case "hop=N":
			all = append(all, "hop=1", "hop=2", "hop=3")
		default:
			all = append(all, name)
		}
	}
	return all
}

// check runs the placement and compares what the kernel says with the plan.
func check(m *topology.Machine, name string) (refused string, err error) {
	c := pingpong.Catalogue{}.Fill(record.Cell{Workload: "pingpong", Transport: "unix-stream", Parallel: pairs,
		Model: "process", ServerModel: "thread", Placement: name, Request: -1, Response: -1})
	p, err := runner.Place(m, c)
	if err != nil {
		return err.Error(), nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	load, err := runner.Start(context.Background(), c, runner.Options{
		Warmup: 100 * time.Millisecond, Exe: exe, CPUs: runner.PlacedCPUs(p), Spare: p.Spare()})
	if err != nil {
		return "", err
	}
	for i, w := range load.Workers() {
		want := m.Allowed()
		if cpu := p.Workers[i].CPU; cpu != topology.Free {
			want = []int{cpu}
		}
		mask, last, kerr := kernel(w.PID, w.TID)
		switch {
		case kerr != nil:
			err = kerr
		case !slices.Equal(mask, want):
			err = fmt.Errorf("%s %d: the kernel says mask %v, the placement %v", w.Role, w.Index, mask, want)
		case !slices.Contains(want, last):
			err = fmt.Errorf("%s %d: the kernel saw it last on CPU %d, the placement says %v", w.Role, w.Index, last, want)
		case p.Workers[i].Role != w.Role || p.Workers[i].Index != w.Index:
			err = fmt.Errorf("worker %d is %s %d, in the placement %s %d", i, w.Role, w.Index, p.Workers[i].Role, p.Workers[i].Index)
		}
	}
	if serr := load.Stop(context.Background()); err == nil {
		err = serr
	}
	return "", err
}

// kernel reads a thread's mask and the CPU that it ran on last (the fields
// Cpus_allowed_list of status and processor, the 39th, of stat; proc(5)).
func kernel(pid, tid int) (mask []int, last int, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(tid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			if mask, err = affinity.ParseList(strings.TrimSpace(v)); err != nil {
				return nil, 0, err
			}
		}
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil, 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may hold blanks
	f := strings.Fields(rest)
	if len(f) < 37 {
		return nil, 0, fmt.Errorf("%s/stat is short", dir)
	}
	last, err = strconv.Atoi(f[36])
	return mask, last, err
}
