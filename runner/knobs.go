package runner

import (
	"errors"
	"strings"
	"syscall"

	"udsbench/janitor"
	"udsbench/record"
	"udsbench/sched"
)

// TryKnobs sets each value of each knob of the kernel's scheduler that the
// cells have, and sets it back, so that one which the kernel refuses is found
// before anything is measured. A janitor sees to the setting back.
func TryKnobs(exe string, cells []record.Cell) (param, value string, err error) {
	tried := map[string]bool{}
	var home *janitor.Home
	defer func() {
		if home != nil {
			home.Release()
			syscall.Wait4(home.Group, nil, 0, nil)
			err = errors.Join(err, home.Close())
		}
	}()
	for _, c := range cells {
		for param, value := range c.Params {
			if !strings.HasPrefix(param, sched.KnobPrefix) || tried[param+"="+value] {
				continue
			}
			tried[param+"="+value] = true
			if home == nil {
				if home, err = janitor.Open(exe); err != nil {
					return "", "", err
				}
			}
			s, err := sched.Switch(map[string]string{param: value}, home.Knobs())
			if err = errors.Join(err, s.Restore()); err != nil {
				return param, value, err
			}
		}
	}
	return "", "", nil
}
