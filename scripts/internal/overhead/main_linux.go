// Command overhead compares udsbench's ping-pong with a bare C loop: pairs of
// both are alive together on one CPU and take turns in short slices, so that
// whatever the machine does falls on both alike. C against C is the control.
//
//	overhead -bare FILE -udsbench FILE [-rounds N] [-sets N]
//
// The exit status is 1 where udsbench is slower than it may be, 3 where the
// machine is too noisy to say.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/runner"
)

// bare is one C pair.
type bare struct {
	mem  []byte
	cmd  *exec.Cmd
	pipe *os.File
}

func startBare(file, shape string, cpu int) (*bare, error) {
	fd, err := pingpong.NewMemoryFile(4096)
	if err != nil {
		return nil, err
	}
	shared := os.NewFile(uintptr(fd), "shared")
	defer shared.Close()
	b := &bare{}
	if b.mem, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b.pipe = w
	b.turn(1)
	b.cmd = exec.Command(file, shape, strconv.Itoa(cpu))
	b.cmd.Stderr = os.Stderr
	b.cmd.ExtraFiles = []*os.File{shared, r}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(5 * time.Second); b.Ops() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.stop()
			return nil, fmt.Errorf("%s did nothing for 5 s", file)
		}
	}
	b.Park()
	return b, nil
}

func (b *bare) gate() *uint32 { return (*uint32)(unsafe.Pointer(&b.mem[0])) }

func (b *bare) turn(word uint32) {
	atomic.StoreUint32(b.gate(), word)
	unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.gate())), 1, math.MaxInt32)
}

func (b *bare) Park()       { b.turn(2) }
func (b *bare) Unpark()     { b.turn(1) }
func (b *bare) Ops() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b.mem[128]))) }

func (b *bare) stop() error {
	b.turn(3)
	done := make(chan error, 1)
	go func() { done <- b.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		b.pipe.Close()
		b.cmd.Process.Kill()
		return <-done
	}
}

// lanes of one set, in the order of names.
var names = []string{"C", "C again", "udsbench, clock none", "udsbench, clock vdso and histogram"}

// limits on the upper end of the interval of each lane against C; 0: the control.
var limits = []float64{0, 0, 1.02, 1.03}

type options struct {
	bare, exe string
	rounds    int
	sets      int
	slice     time.Duration
	cpu       int
	spare     []int
}

// set runs one fresh set of processes and returns the median ratio of the time
// per round trip of each lane against the first.
func set(ctx context.Context, shape string, o options) ([]float64, float64, error) {
	var lanes []runner.Lane
	var loads []*runner.Load
	for range 2 {
		b, err := startBare(o.bare, shape, o.cpu)
		if err != nil {
			return nil, 0, err
		}
		defer b.stop()
		lanes = append(lanes, b)
	}
	for _, clock := range []string{"none", "vdso"} {
		c := record.Cell{Workload: "pingpong", Transport: "unix-stream", Address: "socketpair", Parallel: 1,
			Model: "process", Request: -1, Response: -1, Clock: clock}
		if shape == "thread" {
			c.Model, c.OneProcess = "thread", true
		}
		l, err := runner.Start(ctx, pingpong.Catalogue{}.Fill(c), runner.Options{
			Warmup: 20 * time.Millisecond, Exe: o.exe, CPUs: []int{o.cpu, o.cpu}, Spare: o.spare})
		if err != nil {
			return nil, 0, err
		}
		lanes, loads = append(lanes, l), append(loads, l)
	}
	turns, err := runner.Alternate(ctx, lanes, o.slice, o.rounds)
	for _, l := range loads {
		if serr := l.Stop(ctx); err == nil {
			err = serr
		}
	}
	if err != nil {
		return nil, 0, err
	}
	cost := func(t runner.Turn) float64 { return float64(t.NS) / float64(t.Ops) }
	medians := make([]float64, len(lanes))
	var base []float64
	for i := range lanes {
		var ratios []float64
		for _, round := range turns {
			if round[i].Ops == 0 || round[0].Ops == 0 {
				continue // the whole slice was taken from it
			}
			ratios = append(ratios, cost(round[i])/cost(round[0]))
			if i == 0 {
				base = append(base, cost(round[0]))
			}
		}
		if len(ratios) < o.rounds/2 {
			return nil, 0, fmt.Errorf("%s: only %d of %d slices had a round trip in them", names[i], len(ratios), o.rounds)
		}
		medians[i] = median(ratios)
	}
	return medians, median(base), nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[n/2] + v[(n-1)/2]) / 2
}

// quantiles of Student's t at 97.5 % by degrees of freedom.
var t975 = []float64{0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// interval is the 95 % interval of the ratio over sets, by t on the logarithms,
// about their median.
func interval(ratios []float64) (mid, lo, hi float64) {
	var mean, ss float64
	n := float64(len(ratios))
	for _, r := range ratios {
		mean += math.Log(r) / n
	}
	for _, r := range ratios {
		d := math.Log(r) - mean
		ss += d * d
	}
	half := t975[len(ratios)-1] * math.Sqrt(ss/(n-1)/n)
	mid = median(ratios)
	return mid, mid * math.Exp(-half), mid * math.Exp(half)
}

func main() { os.Exit(run()) }

func run() int {
	o := options{slice: 10 * time.Millisecond}
	flag.StringVar(&o.bare, "bare", "", "the compiled C loop")
	flag.StringVar(&o.exe, "udsbench", "", "the udsbench binary")
	flag.IntVar(&o.rounds, "rounds", 300, "rounds of slices a set")
	flag.IntVar(&o.sets, "sets", 5, "fresh sets of processes, 3 to 10")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	mask, err := affinity.Mask()
	if err != nil || o.sets < 3 || o.sets > len(t975) {
		fmt.Fprintln(os.Stderr, "overhead: sets must be 3 to 10;", err)
		return 2
	}
	o.cpu = mask[len(mask)-1]
	o.spare = mask[:len(mask)-1]
	status := 0
	for _, shape := range []string{"process", "thread"} {
		label := shape
		if shape == "thread" {
			label = "thread --one-process"
		}
		fmt.Printf("%s: %d sets of %d rounds of %v slices, all on CPU %d\n", label, o.sets, o.rounds, o.slice, o.cpu)
		ratios := make([][]float64, len(names))
		for range o.sets {
			medians, base, err := set(ctx, shape, o)
			if err != nil {
				fmt.Fprintln(os.Stderr, "overhead:", err)
				return 3
			}
			fmt.Printf("  set: C %.0f ns a round trip;", base)
			for i := range names {
				ratios[i] = append(ratios[i], medians[i])
				if i > 0 {
					fmt.Printf(" %.4f", medians[i])
				}
			}
			fmt.Println()
		}
		_, lo, hi := interval(ratios[1])
		noisy := (hi-lo)/2 > 0.01
		for i := 1; i < len(names); i++ {
			mid, lo, hi := interval(ratios[i])
			verdict := "control"
			switch {
			case limits[i] == 0 && noisy:
				verdict = "control: the machine is too noisy to tell 1 %"
			case limits[i] == 0:
			case hi <= limits[i]:
				verdict = fmt.Sprintf("ok: at most %.2f", limits[i])
			case noisy:
				verdict = fmt.Sprintf("not shown to be at most %.2f: the machine is too noisy", limits[i])
				status = max(status, 3)
			default:
				verdict = fmt.Sprintf("OVER %.2f", limits[i])
				status = 1
			}
			fmt.Printf("  %-36s %.4f of C, 95 %% interval %.4f to %.4f  %s\n", names[i], mid, lo, hi, verdict)
		}
	}
	return status
}
