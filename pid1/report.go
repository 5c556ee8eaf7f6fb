package pid1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// reportFile is where [Report] lies among the results.
const reportFile = "boot/report.json"

// Report is what init did with one boot.
type Report struct {
	Kernel   string    `json:"kernel"` // name, release, version and machine, as uname gives them
	Commands []Outcome `json:"commands"`
	Notes    []string  `json:"notes"` // everything init said on the console, in order
}

// Outcome is the end of one command.
type Outcome struct {
	Args       []string `json:"args"`
	Status     int      `json:"status"`           // 0–255; 128+N for signal N, 127 when it could not be started
	Signal     string   `json:"signal,omitempty"` // what ended it, if a signal did
	Seconds    float64  `json:"seconds"`          // wall time from start to the end of all that it started
	LeftBehind int      `json:"left_behind"`      // processes that outlived it and were killed
}

func (o *Outcome) setStatus(status syscall.WaitStatus) {
	o.Status = status.ExitStatus()
	if status.Signaled() {
		o.Status, o.Signal = 128+int(status.Signal()), status.Signal().String()
	}
}

// String says the outcome in words.
func (o Outcome) String() string {
	s := fmt.Sprintf("exit status %d", o.Status)
	if o.Signal != "" {
		s += " (" + o.Signal + ")"
	}
	if o.LeftBehind > 0 {
		s += fmt.Sprintf(", %d processes left behind and killed", o.LeftBehind)
	}
	return s
}

// Status gives one exit status for the whole boot: the first that is not 0.
// A boot that ran no command has 1.
func (r *Report) Status() int {
	for _, o := range r.Commands {
		if o.Status != 0 {
			return o.Status
		}
	}
	if len(r.Commands) == 0 {
		return 1
	}
	return 0
}

// ReadReport reads the report among the results that were unpacked into dir.
func ReadReport(dir string) (*Report, error) {
	data, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", reportFile, err)
	}
	return r, nil
}

// kernelName is what uname -srvm gives.
func kernelName() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Sprintf("a kernel whose name is not available: %v", err)
	}
	var words []string
	for _, field := range [][]byte{u.Sysname[:], u.Release[:], u.Version[:], u.Machine[:]} {
		words = append(words, unix.ByteSliceToString(field))
	}
	return strings.Join(words, " ")
}

// deliver packs the results and writes them to the device, or else to the
// console.
func (m *machine) deliver() error {
	if log, err := kernelLog(); err != nil {
		m.say("the kernel's log: not available: %v", err)
	} else if err := os.WriteFile(filepath.Join(bootDir, "dmesg"), log, 0o644); err != nil {
		m.say("%v", err)
	}
	report, err := json.MarshalIndent(&m.report, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(resultsDir, reportFile), append(report, '\n'), 0o644); err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := pack(&packed, resultsDir); err != nil {
		// What could be read is still worth having.
		m.say("results: %v", err)
	}
	if m.results != "" {
		err := writeDevice(m.results, packed.Bytes())
		if err == nil {
			return nil
		}
		m.say("results go to the console: %v", err)
	}
	hushConsole()
	// Twice, because the kernel may write into the middle of a line: a line
	// that is damaged in one copy is whole in the other.
	err = WriteFrame(os.Stderr, packed.Bytes())
	return errors.Join(err, WriteFrame(os.Stderr, packed.Bytes()))
}
