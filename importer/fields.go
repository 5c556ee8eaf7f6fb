package importer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"udsbench/plan"
	"udsbench/record"
)

// emptyCell knows nothing but its workload.
func emptyCell(workload string) record.Cell {
	return record.Cell{Workload: workload, Request: plan.Unset, Response: plan.Unset, Params: map[string]string{}}
}

// aliases are names that other programs have for our fields.
var aliases = map[string]string{
	"threads": "parallel", "clients": "parallel", "connections": "parallel",
	"socket": "transport", "benchmark": "workload", "name": "workload",
}

// setField sets a field of a cell by its flag's name (dashes or underscores);
// any other name becomes a parameter.
func setField(c *record.Cell, name, value string) (err error) {
	name = strings.TrimPrefix(name, "param:")
	if value == "" || value == "-" {
		return nil // not known
	}
	key := strings.ReplaceAll(name, "_", "-")
	if a, ok := aliases[key]; ok {
		key = a
	}
	whole := func(to *int, least, greatest int) {
		n, e := strconv.Atoi(value)
		if e != nil || n < least || n > greatest {
			err = fmt.Errorf("%s %q is not a whole number from %d to %d", name, value, least, greatest)
			return
		}
		*to = n
	}
	size := func(to *int) {
		*to, err = plan.Size(name, value, 0, math.MaxInt32)
	}
	switch key {
	case "workload":
		c.Workload = value
	case "transport":
		c.Transport = value
	case "address":
		c.Address = value
	case "parallel":
		whole(&c.Parallel, 0, plan.MaxParallel)
	case "model":
		c.Model = value
	case "server-model":
		c.ServerModel = value
	case "one-process":
		c.OneProcess, err = plan.Bool(name, value)
	case "placement":
		c.Placement = value
	case "policy":
		c.Policy = value
	case "nice-client":
		whole(&c.NiceClient, -20, 20)
	case "nice-server":
		whole(&c.NiceServer, -20, 20)
	case "request":
		size(&c.Request)
	case "response":
		size(&c.Response)
	case "clock":
		c.Clock = value
	default:
		if c.Params == nil {
			c.Params = map[string]string{}
		}
		c.Params[name] = value
	}
	return err
}

// rate reads a rate that can be compared: above 0 and finite.
func rate(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
		return 0, fmt.Errorf("%q is not a rate above 0", text)
	}
	return v, nil
}
