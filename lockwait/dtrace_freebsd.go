package lockwait

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// dtrace has the dtrace command, where there is one, watch a process group.
type dtrace struct {
	cmd     *exec.Cmd
	out     *bufio.Reader
	stderr  strings.Builder
	opened  time.Time
	done    bool
	inst    record.Instrument
	patient time.Duration // for the command to begin, and to end
}

func newDTrace() *dtrace { return &dtrace{patient: 20 * time.Second} }

func (*dtrace) Name() string { return "dtrace" }

// Probe asks the command for one of the probes: it needs root, and the modules
// (kldload dtraceall).
func (*dtrace) Probe() error {
	path, err := exec.LookPath("dtrace")
	if err != nil {
		return errors.New("there is no dtrace command")
	}
	out, err := exec.Command(path, "-l", "-n", "lockstat:::adaptive-block").CombinedOutput()
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("dtrace has no lockstat:::adaptive-block (needs root and kldload dtraceall): %w: %s", err, line)
	}
	return nil
}

func (d *dtrace) Start(t Target) error {
	if t.PGID <= 0 {
		return errors.New("the process group of the workers is not known")
	}
	d.inst = record.Instrument{Name: "locks", Source: d.Name(), CPUs: ncpu(live()), Blind: dtraceBlind}
	d.cmd = exec.Command("dtrace", "-q", "-n", dtraceScript, strconv.Itoa(t.PGID), strconv.Itoa(os.Getpid()), strconv.Itoa(dtraceMark))
	d.cmd.Stderr = &d.stderr
	pipe, err := d.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	d.out = bufio.NewReader(pipe)
	if err := d.cmd.Start(); err != nil {
		return err
	}
	limit := time.AfterFunc(d.patient, func() { d.cmd.Process.Kill() })
	defer limit.Stop()
	for {
		line, err := d.out.ReadString('\n')
		if strings.TrimSpace(line) == "ready" {
			return nil
		}
		if err != nil {
			werr := d.cmd.Wait()
			d.cmd = nil
			return fmt.Errorf("dtrace did not begin: %v: %s", werr, strings.TrimSpace(d.stderr.String()))
		}
	}
}

// mark opens and closes the window of the script.
func (d *dtrace) mark() { unix.Getpgid(dtraceMark) }

func (d *dtrace) Open() error {
	d.opened = time.Now()
	d.mark()
	return nil
}

func (d *dtrace) Close() error {
	if d.done || d.opened.IsZero() {
		return nil
	}
	d.done = true
	d.mark()
	window := int64(time.Since(d.opened))
	d.inst.WindowNS = &window
	return nil
}

func (d *dtrace) Stop() ([]Row, error) {
	if d.cmd == nil {
		return nil, errors.New("dtrace: not started")
	}
	err := d.Close()
	if err == nil && d.opened.IsZero() {
		err = fmt.Errorf("lock source %s: the window was never opened", d.Name())
	}
	d.cmd.Process.Signal(unix.SIGINT) // its END prints the sums
	limit := time.AfterFunc(d.patient, func() { d.cmd.Process.Kill() })
	text, rerr := io.ReadAll(d.out)
	werr := d.cmd.Wait()
	limit.Stop()
	self := int64(d.cmd.ProcessState.UserTime() + d.cmd.ProcessState.SystemTime())
	d.inst.SelfNS = &self
	d.cmd = nil
	for line := range strings.Lines(d.stderr.String()) {
		d.inst.Notes = append(d.inst.Notes, strings.TrimSpace(line)) // drops among them
	}
	if err = errors.Join(err, rerr); err != nil {
		return nil, err
	}
	rows, err := ParseDTrace(string(text))
	if err != nil && werr != nil {
		err = fmt.Errorf("%w (%v)", err, werr)
	}
	return rows, err
}

func (*dtrace) Blind() []string { return dtraceBlind }

func (d *dtrace) Instrument() record.Instrument { return d.inst }
