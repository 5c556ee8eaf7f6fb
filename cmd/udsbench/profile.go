package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"udsbench/profile"
)

// straceCalls is what a recording traces: what goes over descriptors, what a
// server's threads wait by among themselves, and which of them share descriptors.
// Architectures lack some of those with a question mark.
const straceCalls = "trace=network,desc,futex,?clone,?clone3,?fork,?vfork,?close_range"

// straceShown is how much strace shows of strings, and of lists: as many
// descriptors of a poll, lengths of a sendmmsg.
const straceShown = "16"

func profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "A real server's socket conversation as a workload",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(profileRecordCommand(), profileShowCommand())
	return c
}

func profileRecordCommand() *cobra.Command {
	var pid int
	var seconds, work float64
	var out, clientIO, description string
	var asJSON bool
	c := &cobra.Command{
		Use:   "record [LOG]",
		Short: "Make a profile of a running server, or of an strace log of one",
		Long: `Make a profile of a server's conversations with its clients: from a log of
strace, or by attaching strace to a running process for some seconds (--pid).
The server is slowed meanwhile. For a log:

  strace -f -y -ttt -T -s ` + straceShown + ` -o LOG -p PID \
    -e ` + straceCalls + `

The profile is played by: udsbench run --workload profile:PATH`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (pid != 0) {
				return errors.New("profile record: give a log of strace, or --pid with the process to attach to, and not both")
			}
			if clientIO != profile.Block && clientIO != profile.Poll {
				return fmt.Errorf("--client-io %s: it is %s or %s", clientIO, profile.Block, profile.Poll)
			}
			log := ""
			if pid != 0 {
				if seconds <= 0 || seconds > 3600 {
					return fmt.Errorf("--seconds %v: give more than 0 and at most 3600", seconds)
				}
				dir, err := os.MkdirTemp("", "udsbench-profile")
				if err != nil {
					return &exitError{exitFailed, err}
				}
				defer os.RemoveAll(dir)
				log = filepath.Join(dir, "log")
				err = attach(cmd.Context(), pid, time.Duration(seconds*float64(time.Second)), log)
				if errors.Is(err, context.Canceled) {
					return &exitError{exitInterrupted, errors.New("interrupted; nothing was recorded")}
				}
				if err != nil {
					return &exitError{exitFailed, err}
				}
			} else {
				log = args[0]
			}
			f, err := os.Open(log)
			if err != nil {
				return err
			}
			defer f.Close()
			p, seen, err := profile.FromStrace(f)
			if err != nil {
				what := log
				if pid != 0 {
					what = fmt.Sprintf("process %d", pid)
				}
				return &exitError{exitFailed, fmt.Errorf("%s: %w", what, err)}
			}
			if description == "" {
				description = "Recorded from " + filepath.Base(log) + "."
				if pid != 0 {
					description = fmt.Sprintf("Recorded from process %d.", pid)
				}
			}
			p.ClientIO, p.Description = clientIO, description
			if work >= 0 {
				p.ScaleWork(work)
				p.Notes = append(p.Notes, fmt.Sprintf("work scaled to a mean of %.0f ns", work))
			}
			if out != "" {
				if err := os.WriteFile(out, []byte(p.Format()), 0o644); err != nil {
					return &exitError{exitFailed, err}
				}
			}
			fmt.Fprintf(os.Stderr, "udsbench: %d exchanges on %d connections, %.3f calls each (%s); %d calls were no part of an exchange\n",
				seen.Exchanges, seen.Connections, seen.AllCalls(), seen.CallText(), seen.Elsewhere)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
					Profile *profile.Profile `json:"profile"`
					Seen    *profile.Seen    `json:"seen"`
					Calls   float64          `json:"calls"`
				}{p, seen, seen.AllCalls()})
			}
			if out == "" {
				_, err := io.WriteString(cmd.OutOrStdout(), p.Format())
				return err
			}
			return nil
		},
	}
	c.Flags().SortFlags = false
	c.Flags().IntVar(&pid, "pid", 0, "attach to this process")
	c.Flags().Float64Var(&seconds, "seconds", 2, "for so long")
	c.Flags().StringVar(&out, "out", "", "write the profile to this file, not to standard output")
	c.Flags().StringVar(&clientIO, "client-io", profile.Block, "how clients wait, which the server's calls do not show: "+profile.Block+", "+profile.Poll)
	c.Flags().Float64Var(&work, "work", -1, "mean ns of work of an exchange as measured otherwise (the server's user time), to which what was seen under strace is scaled")
	c.Flags().StringVar(&description, "description", "", "what it stands for")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object with what was seen beside it")
	return c
}

// attach has strace write a log of the process for a while, or until it ends.
func attach(ctx context.Context, pid int, d time.Duration, log string) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return errors.New("strace is missing: install it (Debian: apt-get install strace)")
	}
	c := exec.Command(strace, "-f", "-y", "-ttt", "-T", "-s", straceShown, "-e", straceCalls, "-o", log, "-p", strconv.Itoa(pid))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	text, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(text, 4096))
		said <- string(b)
		io.Copy(io.Discard, text)
	}()
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	began := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("strace could not attach to process %d: %s", pid, <-said)
		}
		fmt.Fprintf(os.Stderr, "udsbench: process %d ended after %v; what it did until then is used\n", pid, time.Since(began).Round(time.Millisecond))
		return nil
	}
	c.Process.Signal(syscall.SIGINT) // it detaches and leaves the process running
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		c.Process.Kill()
		<-ended
	}
	return ctx.Err()
}

func profileShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show NAME|PATH",
		Short: "What a profile does",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(p)
			}
			p.Show(cmd.OutOrStdout())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
