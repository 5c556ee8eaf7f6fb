package plan

import (
	"strconv"
	"strings"
)

// UsageError is a value that the user must mend: the command exits with 2.
type UsageError struct {
	Flag  string // without dashes; "" where no single flag is to blame
	Value string
	Why   string // what is wrong and what would be right
}

func (e *UsageError) Error() string {
	switch {
	case e.Flag == "":
		return e.Why
	case e.Value == "":
		return "--" + e.Flag + ": " + e.Why
	}
	return "--" + e.Flag + " " + e.Value + e.rest()
}

// rest is the reason behind the flag and its value. Reasons that stand alone
// elsewhere begin by naming what they refuse: as transport "x", param depth=0, or
// a profile:NAME as profile "NAME". That is said once.
func (e *UsageError) rest() string {
	kind, name, _ := strings.Cut(e.Value, ":")
	flag := strings.TrimPrefix(e.Flag, "param ")
	for _, named := range []string{
		flag + " " + strconv.Quote(e.Value), flag + " " + e.Value,
		"param " + flag + "=" + e.Value, "param " + flag,
		kind + " " + strconv.Quote(name), kind + " " + name,
	} {
		if rest, ok := strings.CutPrefix(e.Why, named); ok && strings.HasPrefix(rest, ": ") || ok && strings.HasPrefix(rest, " ") {
			return rest
		}
	}
	return ": " + e.Why
}
