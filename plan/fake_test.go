package plan

import (
	"fmt"

	"udsbench/record"
)

// fake is a catalogue with the kinds of refusal and default that the real one
// has, and no more.
type fake struct{}

func (fake) Fill(c record.Cell) record.Cell {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	switch c.Workload {
	case "pingpong":
		set(&c.Model, "process")
		set(&c.ServerModel, c.Model)
		if c.Response == Unset {
			c.Response = 64
		}
	case "fanin":
		set(&c.Model, "process")
		set(&c.ServerModel, "thread")
		if c.Response == Unset {
			c.Response = 64
		}
	case "dgram":
		set(&c.Model, "process")
		set(&c.ServerModel, "thread")
		set(&c.Transport, "unix-dgram")
		if c.Response == Unset {
			c.Response = 0
		}
		if c.Params["full"] == "" {
			c.Params["full"] = "retry"
		}
	default:
		return c
	}
	switch c.Transport {
	case "tcp":
		set(&c.Address, "inet")
	case "pipe":
		set(&c.Address, "socketpair")
	default:
		set(&c.Address, "path")
	}
	if c.Request == Unset {
		c.Request = 64
	}
	return c
}

func (fake) Check(c record.Cell) error {
	inet := c.Address == "inet" || c.Address == "inet6"
	switch {
	case c.Workload != "pingpong" && c.Workload != "fanin" && c.Workload != "dgram":
		return fmt.Errorf("there is no workload %s: pingpong, fanin, dgram", c.Workload)
	case c.Transport == "tcp" && !inet:
		return fmt.Errorf("tcp has no address %s: inet, inet6", c.Address)
	case c.Transport != "tcp" && inet:
		return fmt.Errorf("%s has no address %s: path, socketpair", c.Transport, c.Address)
	case c.Workload == "fanin" && c.Transport == "pipe":
		return fmt.Errorf("fanin needs connections, which pipe has not: a socket transport")
	case c.Workload == "dgram" && c.Transport != "unix-dgram":
		return fmt.Errorf("dgram sends datagrams, which %s does not carry: unix-dgram", c.Transport)
	case c.Workload != "dgram" && c.Response == 0:
		return fmt.Errorf("%s answers, with 1 byte or more: give response 1", c.Workload)
	case c.Workload == "dgram" && c.Response != 0:
		return fmt.Errorf("dgram sends nothing back: leave --response out")
	case c.Workload != "dgram" && c.Params["full"] != "":
		return fmt.Errorf("%s has no full: it is for dgram", c.Workload)
	}
	return nil
}
