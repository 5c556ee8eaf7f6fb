package pid1

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// scriptFile is read where the kernel's text holds no line.
const scriptFile = "/etc/udsbench"

// parseScript splits a script into its lines of words, comments and empty
// lines left out.
func parseScript(text string) ([][]string, error) {
	text = strings.ReplaceAll(text, "\\\r\n", "")
	text = strings.ReplaceAll(text, "\\\n", "")
	var script [][]string
	for line := range strings.Lines(text) {
		words, err := splitWords(line)
		if err != nil {
			return nil, fmt.Errorf("script line %q: %w", strings.TrimSpace(line), err)
		}
		if len(words) > 1 && words[0] == "udsbench" {
			words = words[1:]
		}
		if len(words) > 0 {
			script = append(script, words)
		}
	}
	return script, nil
}

// splitWords splits one line at blanks, with a shell's quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case c == '#' && !inWord:
			return words, nil
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("%c is not closed", quote)
	case escaped:
		return nil, errors.New("a backslash at the end quotes nothing")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}

// cmdlineScript gives the script in a Linux kernel command line: the values
// of udsbench.cmd, a line each. The kernel's rule for quotes is that of
// next_arg in lib/cmdline.c: a double quote hides blanks, nothing else.
func cmdlineScript(cmdline string) string {
	var script strings.Builder
	quoted := false
	for param := range strings.FieldsFuncSeq(cmdline, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return !quoted && strings.ContainsRune(" \t\r\n", c)
	}) {
		param = strings.TrimSuffix(strings.TrimPrefix(param, `"`), `"`)
		if value, ok := strings.CutPrefix(param, "udsbench.cmd="); ok {
			script.WriteString(unescape(strings.TrimPrefix(value, `"`)) + "\n")
		}
	}
	return script.String()
}

// kenvScript gives the script in a FreeBSD kernel environment, NAME=VALUE
// strings that each end in a NUL: the values of the variables that begin with
// udsbench.cmd, by the number at the end of the name (none is before 1).
func kenvScript(env string) string {
	type line struct {
		number uint64
		text   string
	}
	var lines []line
	for variable := range strings.SplitSeq(env, "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if suffix, ok := strings.CutPrefix(name, "udsbench.cmd"); ok {
			number, _ := strconv.ParseUint(strings.TrimPrefix(suffix, "."), 10, 64)
			lines = append(lines, line{number, unescape(value)})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.number, b.number) })
	var script strings.Builder
	for _, l := range lines {
		script.WriteString(l.text + "\n")
	}
	return script.String()
}

// unescape decodes %XX; a % that begins no such pair stands for itself.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parseCPUs reads a list such as 0-2,5 (or with + for the comma): CPU numbers
// from 0 to 65535, in the order given.
func parseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.FieldsFuncSeq(list, func(c rune) bool { return c == ',' || c == '+' }) {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		lo, err1 := strconv.ParseUint(from, 10, 16)
		hi, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || hi < lo {
			return nil, fmt.Errorf("%q is no list of CPUs: give it as in 0-2,5", list)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	if len(cpus) == 0 {
		return nil, errors.New("the list of CPUs is empty: give it as in 0-2,5")
	}
	return cpus, nil
}

// runScript finds the script and does what it says.
func (m *machine) runScript() error {
	text, err := kernelText()
	if err != nil {
		m.say("the kernel's text: not available: %v", err)
	}
	if text == "" {
		file, err := os.ReadFile(scriptFile)
		if err != nil {
			return fmt.Errorf("nothing to run: no udsbench.cmd in the kernel's text, and %w", err)
		}
		text = string(file)
	}
	script, err := parseScript(text)
	if err != nil {
		return err
	}
	m.reaper = newReaper()
	for _, words := range script {
		if handled, err := m.directive(words); err != nil {
			return fmt.Errorf("%s: %w: the rest of the script is not run", strings.Join(words, " "), err)
		} else if handled {
			continue
		}
		if !m.command(words) {
			return errors.New("stopped by a signal: the rest of the script is not run")
		}
	}
	return nil
}

// directive does what words say if they are a directive.
func (m *machine) directive(words []string) (handled bool, err error) {
	name := words[0]
	switch name {
	case "results", "offline", "cpuset", "cgroup":
	default:
		return false, nil
	}
	if len(words) != 2 {
		return true, errors.New("takes one word")
	}
	value := words[1]
	switch name {
	case "results":
		m.results = value
		return true, nil
	case "cgroup":
		if value != "v1" {
			return true, errors.New("only v1 can be asked for")
		}
		m.v1 = true
		return true, mountV1()
	}
	cpus, err := parseCPUs(value)
	if err != nil {
		return true, err
	}
	if name == "offline" {
		return true, takeOffline(cpus)
	}
	return true, confine(cpus, m.v1)
}
