package pingpong

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"udsbench/record"
)

// The descriptors that a worker process inherits: the control pipe, whose
// other end only the coordinator holds, the shared mapping, then the ends of
// connections in the order of Spec.Workers.
const (
	ControlFD = 3
	MemoryFD  = 4
	FirstFD   = 5
)

// WorkerArg is the hidden subcommand that makes a process a worker process.
// The run's private directory follows it, so that what is left behind can be
// told by its command line.
const WorkerArg = "__worker"

// Spec is what one worker process is told. It comes over the control pipe.
type Spec struct {
	Cell    record.Cell `json:"cell"`
	Dir     string      `json:"dir"`    // private directory of the run, also the stem of abstract names
	Slots   int         `json:"slots"`  // in the shared mapping
	Layout  int64       `json:"layout"` // bytes of a mapping with one slot, as the coordinator knows it
	Process int         `json:"process"`
	Model   string      `json:"model"` // of the workers in this process
	Clock   Clock       `json:"clock"`
	Ops     uint64      `json:"ops,omitempty"` // operations a client; 0 until stop
	Seed    uint64      `json:"seed"`

	SpinPerUS float64      `json:"spin_per_us,omitempty"` // turns of spin in a microsecond
	Script    []byte       `json:"script,omitempty"`      // of a server-shaped profile
	CPUs      []int        `json:"cpus,omitempty"`        // of the whole process, where goroutines have no mask of their own
	Workers   []WorkerSpec `json:"workers"`
}

// WorkerSpec is one worker of a process.
type WorkerSpec struct {
	Slot  int    `json:"slot"`
	Role  string `json:"role"`
	Index int    `json:"index"`
	Peer  int    `json:"peer"`          // slot of the server it connects to; -1 none
	CPU   int    `json:"cpu"`           // -1 free
	End   *End   `json:"end,omitempty"` // inherited end, by descriptor number
}

// WriteSpec sends a spec down a control pipe: its length, then JSON.
func WriteSpec(w io.Writer, s *Spec) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// ReadSpec reads what WriteSpec wrote.
func ReadSpec(r io.Reader) (*Spec, error) {
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return nil, err
	}
	if n > 64<<20 {
		return nil, fmt.Errorf("spec of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	s := new(Spec)
	return s, json.Unmarshal(b, s)
}
