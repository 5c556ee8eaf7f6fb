// Unframe cuts the results of a boot out of what its machine wrote to a
// serial line, a disk or the console, and unpacks them:
//
//	unframe -out DIR FILE...
//
// It prints what the commands printed, each to the same stream, and ends with
// the first exit status that is not 0. Without whole results it ends with 125.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"udsbench/pid1"
)

const (
	wrongUsage = 2
	noResults  = 125
)

func main() {
	out := flag.String("out", "", "`DIR` to unpack the results into")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: unframe -out DIR FILE...")
		os.Exit(wrongUsage)
	}
	report, err := unframe(flag.Args(), *out)
	if err != nil {
		fmt.Fprintf(os.Stderr, "unframe: %v\n", err)
		os.Exit(noResults)
	}
	for i, outcome := range report.Commands {
		copyOut(os.Stdout, *out, i+1, "stdout")
		copyOut(os.Stderr, *out, i+1, "stderr")
		if outcome.Status != 0 || outcome.LeftBehind != 0 {
			fmt.Fprintf(os.Stderr, "unframe: command %d: %s: %v\n", i+1, strings.Join(outcome.Args, " "), outcome)
		}
	}
	if len(report.Commands) == 0 {
		fmt.Fprintf(os.Stderr, "unframe: no command was run:\n\t%s\n", strings.Join(report.Notes, "\n\t"))
	}
	os.Exit(report.Status())
}

// unframe unpacks the results in some files, taken as one, into a directory.
func unframe(files []string, dir string) (*pid1.Report, error) {
	var all []io.Reader
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		all = append(all, in)
	}
	data, err := pid1.ReadFrame(io.MultiReader(all...))
	if err != nil {
		return nil, err
	}
	if err := pid1.Unpack(bytes.NewReader(data), dir); err != nil {
		return nil, err
	}
	return pid1.ReadReport(dir)
}

// copyOut copies one stream of the n-th command; one that was never started
// has none.
func copyOut(w io.Writer, dir string, n int, stream string) {
	file, err := os.Open(filepath.Join(dir, "boot", fmt.Sprintf("%d.%s", n, stream)))
	if err != nil {
		return
	}
	defer file.Close()
	io.Copy(w, file)
}
