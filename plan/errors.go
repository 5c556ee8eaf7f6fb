package plan

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
	return "--" + e.Flag + " " + e.Value + ": " + e.Why
}
