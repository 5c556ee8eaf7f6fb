// Testinit stands in for udsbench in the tests of package pid1: init when it
// is PID 1, else a command for each thing that init must get right.
package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"udsbench/pid1"
)

func main() {
	if pid1.Active() {
		os.Exit(pid1.Main())
	}
	commands := map[string]func(args []string) error{
		"args": args, "cat": cat, "write": write, "exit": exit, "crash": crash,
		"orphan": orphan, "sleep": sleep, "linger": linger, "loopback": loopback,
		"stop-init": stopInit,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "testinit: no such command: %q\n", os.Args)
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "testinit: %v\n", err)
		os.Exit(1)
	}
}

// args prints its arguments, one a line.
func args(args []string) error {
	for _, arg := range args {
		fmt.Println(arg)
	}
	return nil
}

// cat prints "FILE: TEXT" for every file that a pattern matches.
func cat(patterns []string) error {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if len(paths) == 0 {
			fmt.Printf("%s: absent\n", pattern)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Printf("%s: %s\n", path, bytes.TrimRight(text, "\n"))
		}
	}
	return nil
}

// write makes a directory of the awkward kinds of file: "write DIR SEED".
func write(args []string) error {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	return WriteSample(args[0], seed)
}

// WriteSample fills dir from a seed, the same bytes for the same seed.
func WriteSample(dir string, seed uint64) error {
	if err := os.MkdirAll(filepath.Join(dir, "deep", "er"), 0o755); err != nil {
		return err
	}
	for name, size := range map[string]int{"empty": 0, "one": 1, "deep/chunk": 96, "deep/chunk+1": 97, "deep/er/random": 300_000} {
		data := make([]byte, size)
		// Each file has bytes of its own, whatever the order of the map.
		rand.NewChaCha8([32]byte{byte(seed), byte(size), byte(size >> 8)}).Read(data)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o640); err != nil {
			return err
		}
	}
	return os.Symlink("deep/chunk", filepath.Join(dir, "link"))
}

func exit(args []string) error {
	status, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	os.Exit(status)
	return nil
}

func crash([]string) error {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// orphan starts a process whose parent ends at once, and fails unless init
// adopts that process and reaps it when it ends.
func orphan(args []string) error {
	if len(args) == 0 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		child, err := os.StartProcess("/proc/self/exe", []string{"testinit", "orphan", "parent"},
			&os.ProcAttr{Files: []*os.File{nil, w, os.Stderr}})
		if err != nil {
			return err
		}
		w.Close()
		if _, err := child.Wait(); err != nil {
			return err
		}
		// The pipe ends when the orphan does.
		pid, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		for range 100 {
			if _, err := os.Stat("/proc/" + string(pid)); os.IsNotExist(err) {
				fmt.Println("reaped")
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		status, _ := os.ReadFile("/proc/" + string(pid) + "/status")
		return fmt.Errorf("orphan %s is still there:\n%s", pid, status)
	}
	grandchild, err := os.StartProcess("/proc/self/exe", []string{"testinit", "sleep", "0.5"},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	fmt.Print(grandchild.Pid)
	return nil
}

func sleep(args []string) error {
	seconds, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	return nil
}

// linger leaves a process behind that would hold its output open for an hour.
func linger([]string) error {
	_, err := os.StartProcess("/proc/self/exe", []string{"testinit", "sleep", "3600"},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	return err
}

// loopback sends a line through TCP on each address.
func loopback(addresses []string) error {
	for _, address := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			return err
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				io.Copy(c, c)
				c.Close()
			}
		}()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		fmt.Fprintf(c, "echo from %s", address)
		c.(*net.TCPConn).CloseWrite()
		text, err := io.ReadAll(c)
		if err != nil {
			return err
		}
		fmt.Println(strings.TrimSpace(string(text)))
	}
	return nil
}

// stopInit asks init to end, as Ctrl-Alt-Del does, and waits for its answer.
func stopInit([]string) error {
	fmt.Println("asking init to stop")
	if err := syscall.Kill(1, syscall.SIGINT); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return nil
}
