// Command udsbench measures the kernel's local-socket layer. See the README,
// or `udsbench help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
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
	return root
}
