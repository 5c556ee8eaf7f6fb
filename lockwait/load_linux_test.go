package lockwait

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The loads are threads of a child process, in raw and blocking system calls,
// each with one lock that is known to be hot.

const loadEnv = "UDSBENCH_LOCK_LOAD"

func TestMain(m *testing.M) {
	if name := os.Getenv(loadEnv); name != "" {
		os.Exit(loadMain(name))
	}
	os.Exit(m.Run())
}

type load struct {
	stop atomic.Bool
	ops  atomic.Int64
	all  sync.WaitGroup // those that leave at the stop
	rest sync.WaitGroup // those that serve them until they have left
}

// server runs f on a thread of its own until f says that it is over.
func (l *load) server(f func() bool) {
	l.rest.Go(func() {
		runtime.LockOSThread()
		for f() {
		}
	})
}

// thread runs f on a thread of its own until the load stops or f says so.
func (l *load) thread(f func() bool) {
	l.all.Go(func() {
		runtime.LockOSThread()
		for !l.stop.Load() && f() {
		}
	})
}

func pair(kind int) (int, int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		panic(err)
	}
	return fds[0], fds[1]
}

const threads = 8

// loads start threads and give what ends the servers.
var loads = map[string]func(l *load) (unblock func()){
	// Many writers, one stream socket.
	"writers": func(l *load) func() {
		a, b := pair(unix.SOCK_STREAM)
		for range threads {
			msg := make([]byte, 64)
			l.thread(func() bool { l.ops.Add(1); _, err := unix.Write(a, msg); return err == nil })
		}
		buf := make([]byte, 4096)
		l.server(func() bool { n, err := unix.Read(b, buf); return n > 0 && err == nil })
		return func() { unix.Shutdown(b, unix.SHUT_RDWR) }
	},
	// Many connected datagram senders, one receiver.
	"dgram": func(l *load) func() {
		path := fmt.Sprintf("@udsbench-lockwait-%d", os.Getpid())
		r, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err := unix.Bind(r, &unix.SockaddrUnix{Name: path}); err != nil {
			panic(err)
		}
		for range threads {
			s, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err := unix.Connect(s, &unix.SockaddrUnix{Name: path}); err != nil {
				panic(err)
			}
			msg := make([]byte, 64)
			l.thread(func() bool {
				err := unix.Sendto(s, msg, unix.MSG_DONTWAIT, nil)
				if err == nil {
					l.ops.Add(1)
				}
				return err == nil || err == unix.EAGAIN
			})
		}
		buf := make([]byte, 64)
		l.server(func() bool { n, err := unix.Read(r, buf); return n > 0 && err == nil })
		return func() { unix.Shutdown(r, unix.SHUT_RDWR) }
	},
	// Many clients connect to and leave one listener with two acceptors.
	"storm": func(l *load) func() {
		path := fmt.Sprintf("@udsbench-lockwait-%d", os.Getpid())
		s, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err := unix.Bind(s, &unix.SockaddrUnix{Name: path}); err != nil {
			panic(err)
		}
		unix.Listen(s, 4)
		for range threads {
			l.thread(func() bool {
				c, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
				err := unix.Connect(c, &unix.SockaddrUnix{Name: path})
				unix.Close(c)
				l.ops.Add(1)
				return err == nil
			})
		}
		for range 2 {
			l.server(func() bool {
				c, _, err := unix.Accept(s)
				unix.Close(c)
				return err == nil
			})
		}
		return func() { unix.Shutdown(s, unix.SHUT_RDWR) }
	},
	// Sockets passed over pairs that share nothing but the collector of
	// sockets in flight.
	"rights": func(l *load) func() {
		for range threads {
			a, b := pair(unix.SOCK_DGRAM)
			x, _ := pair(unix.SOCK_STREAM)
			rights := unix.UnixRights(x)
			msg, oob := make([]byte, 1), make([]byte, 64)
			l.thread(func() bool {
				if err := unix.Sendmsg(a, msg, rights, nil, 0); err != nil {
					return err == unix.ETOOMANYREFS
				}
				_, n, _, _, err := unix.Recvmsg(b, msg, oob, 0)
				if err != nil {
					return false
				}
				if cmsgs, err := unix.ParseSocketControlMessage(oob[:n]); err == nil && len(cmsgs) > 0 {
					fds, _ := unix.ParseUnixRights(&cmsgs[0])
					for _, fd := range fds {
						unix.Close(fd)
					}
				}
				l.ops.Add(1)
				return true
			})
		}
		return func() {}
	},
	// One writer, many readers of one stream socket.
	"readers": func(l *load) func() {
		a, b := pair(unix.SOCK_STREAM)
		for range threads {
			buf := make([]byte, 8)
			l.server(func() bool { l.ops.Add(1); n, err := unix.Read(b, buf); return n > 0 && err == nil })
		}
		msg := make([]byte, 256)
		l.thread(func() bool { _, err := unix.Write(a, msg); return err == nil })
		return func() { unix.Shutdown(b, unix.SHUT_RDWR) }
	},
	// Threads that make and close sockets in one descriptor table.
	"churn": func(l *load) func() {
		for range threads {
			l.thread(func() bool {
				s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
				unix.Close(s)
				l.ops.Add(1)
				return err == nil
			})
		}
		return func() {}
	},
	// A mutex of user space's own that one thread holds all the time, and
	// threads that wait for it.
	"held": func(l *load) func() {
		word := new(uint32)
		atomic.StoreUint32(word, 2)
		futex := func(op, n uintptr) {
			unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), op, n, 0, 0, 0)
		}
		for range threads {
			l.server(func() bool {
				futex(0, 2) // FUTEX_WAIT
				l.ops.Add(1)
				return atomic.LoadUint32(word) == 2
			})
		}
		return func() { atomic.StoreUint32(word, 0); futex(1, threads) } // FUTEX_WAKE
	},
	// Pairs that share nothing.
	"pingpong": func(l *load) func() {
		for range threads {
			a, b := pair(unix.SOCK_STREAM)
			pong := make([]byte, 1)
			l.server(func() bool { n, err := unix.Read(b, pong); unix.Write(b, pong); return n > 0 && err == nil })
			l.all.Go(func() {
				runtime.LockOSThread()
				buf := make([]byte, 1)
				for !l.stop.Load() {
					unix.Write(a, buf)
					unix.Read(a, buf)
					l.ops.Add(1)
				}
				unix.Shutdown(a, unix.SHUT_RDWR)
			})
		}
		return func() {}
	},
}

// loadMain is the child: it waits for a line, works for the time in it, says
// how many operations it did, and waits for the end of its input.
func loadMain(name string) int {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadString('\n')
	if err != nil {
		return 1
	}
	d, err := time.ParseDuration(strings.TrimSpace(line))
	if err != nil {
		return 1
	}
	l := &load{}
	unblock := loads[name](l)
	time.Sleep(d)
	l.stop.Store(true)
	l.all.Wait()
	unblock()
	l.rest.Wait()
	fmt.Println(l.ops.Load())
	io.Copy(io.Discard, in)
	return 0
}

// child is a load process.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startLoad(t *testing.T, name string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(exe)}
	c.cmd.Env = append(os.Environ(), loadEnv+"="+name)
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.in.Close(); c.cmd.Wait() })
	return c
}

// run lets the load work for d and gives its operations.
func (c *child) run(d time.Duration) (ops int64) {
	c.t.Helper()
	fmt.Fprintf(c.in, "%v\n", d)
	if _, err := fmt.Fscan(c.out, &ops); err != nil {
		c.t.Fatal(err)
	}
	return ops
}
