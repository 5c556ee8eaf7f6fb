package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Split cuts a list at its commas. Blanks around a value go; an empty value or one that
// stands twice is a UsageError.
func Split(flag, list string) ([]string, error) {
	var values []string
	seen := map[string]bool{}
	for _, v := range strings.Split(list, ",") {
		v = strings.TrimSpace(v)
		if v == "" {
			return nil, &UsageError{flag, strconv.Quote(list), "a value is empty: write values with one comma between them"}
		}
		if strings.ContainsFunc(v, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }) {
			return nil, &UsageError{flag, strconv.Quote(v), "has characters that cannot be printed"}
		}
		if seen[v] {
			return nil, &UsageError{flag, list, v + " stands twice: give each value once"}
		}
		seen[v] = true
		values = append(values, v)
	}
	return values, nil
}

// SplitParam cuts NAME=V1,V2 as --param takes it.
func SplitParam(text string) (name string, values []string, err error) {
	name, list, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || !validName(name) {
		return "", nil, &UsageError{"param", strconv.Quote(text), "write NAME=VALUE or NAME=V1,V2, the name in letters, digits and . _ - /"}
	}
	values, err = Split("param "+name+"=", list)
	return name, values, err
}

func validName(s string) bool {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-', c == '/':
		default:
			return false
		}
	}
	return s != ""
}

// Int reads a whole number from least to greatest.
func Int(flag, value string, least, greatest int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > greatest {
		return 0, &UsageError{flag, value, fmt.Sprintf("give a whole number from %d to %d", least, greatest)}
	}
	return n, nil
}

// Size reads a number of bytes from least to greatest: 64, 4k or 4KiB (4096),
// 1M or 1MiB. There are no decimal multiples, so that 1k means one thing.
func Size(flag, value string, least, greatest int) (int, error) {
	digits := strings.TrimRight(value, "kKMiB")
	shift, ok := map[string]int{"": 0, "B": 0, "k": 10, "K": 10, "KiB": 10, "M": 20, "MiB": 20}[value[len(digits):]]
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > greatest>>shift || n<<shift < least {
		return 0, &UsageError{flag, value, fmt.Sprintf("give a size from %s to %s, as 64, 4k or 1MiB", FormatSize(least), FormatSize(greatest))}
	}
	return n << shift, nil
}

// FormatSize writes bytes the shortest way that Size reads back: 64, 4KiB, 1MiB.
func FormatSize(n int) string {
	switch {
	case n != 0 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "MiB"
	case n != 0 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "KiB"
	}
	return strconv.Itoa(n)
}

// Duration reads a time from least to greatest, as 300ms or 2s.
func Duration(flag, value string, least, greatest time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < least || d > greatest {
		return 0, &UsageError{flag, value, fmt.Sprintf("give a time from %v to %v with its unit, as 300ms or 2s", least, greatest)}
	}
	return d, nil
}

// Bool reads yes or no, and what the flag package takes for them.
func Bool(flag, value string) (bool, error) {
	switch value {
	case "yes", "true", "1":
		return true, nil
	case "no", "false", "0":
		return false, nil
	}
	return false, &UsageError{flag, value, "give yes or no"}
}
