// Command udsbench measures the kernel's local-socket layer. See the README,
// or `udsbench help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"udsbench/environ"
	"udsbench/janitor"
	"udsbench/pid1"
	"udsbench/pingpong"
)

// Exit statuses, which scripts rely on.
const (
	exitDone        = 0
	exitFailed      = 1 // a run failed
	exitUsage       = 2
	exitInterrupted = 130
)

// exitError ends the program with a status of its own. Its text, if it has
// one, goes to standard error.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	// Before anything of the command line exists: thousands of these start.
	if len(os.Args) == 3 || len(os.Args) == 2 {
		switch os.Args[1] {
		case pingpong.WorkerArg:
			os.Exit(pingpong.WorkerMain())
		case janitor.Arg:
			if len(os.Args) == 3 {
				janitor.Main(os.Args[2])
			}
		}
	}
	if pid1.Active() {
		os.Exit(pid1.Main())
	}
	os.Exit(run(os.Args[1:]))
}

// run is one udsbench command; it returns the exit status.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	out := &output{ctx: ctx, to: os.Stdout}
	if outputClosed() {
		out.to = closedWriter{}
	}
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	if out.err != nil && (err == nil || err == out.err) {
		err = &exitError{exitFailed, fmt.Errorf("standard output: %w", out.err)}
	}
	if err == nil {
		return exitDone
	}
	status := exitUsage
	var exit *exitError
	if errors.As(err, &exit) {
		status = exit.status
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "udsbench:", text)
	}
	return status
}

// endings are the signals that end a session in good order: those that whoever
// started it has not set to be ignored, as nohup does.
func endings() []os.Signal {
	return slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
}

// output is standard output. A reader that does not read blocks a write, but
// not the end of the program: once it is told to end, a write has a second.
type output struct {
	ctx context.Context
	to  io.Writer
	err error // the first
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := o.to.Write(b)
		done <- result{n, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-o.ctx.Done():
		select {
		case r = <-done:
		case <-time.After(time.Second):
			r.err = errors.New("nobody reads it")
		}
	}
	o.err = r.err
	return r.n, r.err
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "udsbench",
		Short:         "Measure the kernel's local-socket layer",
		Version:       environ.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(os.Stderr)
			_ = cmd.Help()
			return &exitError{status: exitUsage}
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(runCommand(), listCommand(), profileCommand(), topologyCommand(), locksCommand(), compareCommand(), importCommand(), exportCommand(), versionCommand())
	wrapHelp(root)
	return root
}
