package runner

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/affinity"
	"udsbench/record"
)

// The pairs and the masks are read from the kernel, not from the workers:
// which descriptor a thread is blocked in read on (/proc/PID/task/TID/syscall),
// which socket that is (its inode), and which socket the kernel says is its
// peer (sock_diag(7) for AF_UNIX, /proc/net/tcp for TCP).
func TestPairsAreTruePairs(t *testing.T) {
	isolated(t)
	allowed, err := affinity.Mask()
	if err != nil {
		t.Fatal(err)
	}
	if len(allowed) < 2 {
		t.Fatal("needs two CPUs")
	}
	const n = 8
	for _, transport := range []string{"unix-stream", "unix-seqpacket", "tcp"} {
		for _, workload := range []string{"fanin", "pingpong"} {
			for _, placement := range []string{"same-cpu", "split"} {
				t.Run(transport+"/"+workload+"/"+placement, func(t *testing.T) {
					cpus := make([]int, 2*n)
					for i := range n {
						cpus[i] = allowed[i%2]
						cpus[n+i] = allowed[i%2]
						if placement == "split" {
							cpus[n+i] = allowed[(i+1)%2]
						}
					}
					c := cell(record.Cell{Workload: workload, Transport: transport, Parallel: n, ServerModel: "thread"})
					shuffled := false
					for try := 0; try < 20 && !shuffled; try++ {
						shuffled = truePairs(t, c, cpus)
						if workload == "pingpong" {
							return // each has a listener of its own: there is no order to be shuffled
						}
					}
					if !shuffled {
						t.Error("connections were accepted in the order of the clients in 20 sets: nothing was tested")
					}
				})
			}
		}
	}
}

// truePairs checks one set and reports whether the server's descriptors, which
// are numbered as they were accepted, are in another order than the clients.
func truePairs(t *testing.T, c record.Cell, cpus []int) (shuffled bool) {
	t.Helper()
	o := options(t)
	o.CPUs = cpus
	load, err := Start(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := load.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(20 * time.Millisecond) // until the servers have answered the last request and wait
	n := c.Parallel
	inode := make([]string, 2*n)
	fds := make([]int, 2*n)
	for i, w := range load.Workers() {
		mask, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", w.PID, w.TID))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := field(string(mask), "Cpus_allowed_list"), strconv.Itoa(cpus[i]); got != want {
			t.Errorf("%s %d: the kernel says mask %s, want %s", w.Role, w.Index, got, want)
		}
		if *w.Pair != w.Index {
			t.Errorf("%s %d has pair %d", w.Role, w.Index, *w.Pair)
		}
		if w.Role == record.Client {
			inode[i], fds[i] = onlySocket(t, w.PID)
			continue
		}
		call, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", w.PID, w.TID))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(call)) // number, arguments in hexadecimal
		if len(f) < 2 || f[0] != strconv.Itoa(unix.SYS_READ) {
			t.Fatalf("server %d is not in read: %q", w.Index, call)
		}
		fd, _ := strconv.ParseInt(f[1], 0, 32)
		fds[i] = int(fd)
		inode[i] = socketOf(t, w.PID, int(fd))
	}
	peer := peers(t, c.Transport)
	for i := range n {
		if got := peer[inode[i]]; got != inode[n+i] {
			t.Errorf("client %d's peer is socket %s, but server thread %d reads socket %s", i, got, i, inode[n+i])
		}
	}
	return !slices.IsSorted(fds[n:])
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func socketOf(t *testing.T, pid, fd int) string {
	t.Helper()
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")
}

// onlySocket is the one socket of a client process.
func onlySocket(t *testing.T, pid int) (inode string, fd int) {
	t.Helper()
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, l := range links {
		if to, _ := os.Readlink(l); strings.HasPrefix(to, "socket:[") {
			n, _ := strconv.Atoi(filepath.Base(l))
			if n <= 2 {
				continue // standard streams may be sockets of whoever started us
			}
			if inode != "" {
				t.Fatalf("process %d has two sockets", pid)
			}
			inode, fd = socketOf(t, pid, n), n
		}
	}
	return inode, fd
}

// peers maps each connected socket's inode to its peer's.
func peers(t *testing.T, transport string) map[string]string {
	t.Helper()
	if transport == "tcp" {
		return tcpPeers(t)
	}
	return unixPeers(t)
}

func tcpPeers(t *testing.T) map[string]string {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	byEnds := map[[2]string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == "01" { // established
			byEnds[[2]string{f[1], f[2]}] = f[9]
		}
	}
	m := map[string]string{}
	for ends, inode := range byEnds {
		m[inode] = byEnds[[2]string{ends[1], ends[0]}]
	}
	return m
}

// unixPeers asks sock_diag(7) for all AF_UNIX sockets with their peers.
func unixPeers(t *testing.T) map[string]string {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	const (
		sockDiagByFamily = 20
		showPeer         = 4 // UDIAG_SHOW_PEER of linux/unix_diag.h
		attrPeer         = 2 // UNIX_DIAG_PEER
	)
	le := binary.LittleEndian
	req := make([]byte, 16+24)
	le.PutUint32(req, uint32(len(req)))
	le.PutUint16(req[4:], sockDiagByFamily)
	le.PutUint16(req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	req[16] = unix.AF_UNIX
	le.PutUint32(req[20:], ^uint32(0)) // all states
	le.PutUint32(req[28:], showPeer)
	if err := unix.Sendto(s, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(s, buf)
		if err != nil {
			t.Fatal(err)
		}
		for b := buf[:n]; len(b) >= 16; {
			size := int(le.Uint32(b))
			switch le.Uint16(b[4:]) {
			case unix.NLMSG_DONE:
				return m
			case unix.NLMSG_ERROR:
				t.Fatal("sock_diag refuses: is the module unix_diag there?")
			}
			inode := le.Uint32(b[16+4:])
			for a := b[16+16 : size]; len(a) >= 4; {
				alen := int(le.Uint16(a))
				if le.Uint16(a[2:]) == attrPeer {
					m[fmt.Sprint(inode)] = fmt.Sprint(le.Uint32(a[4:]))
				}
				a = a[min((alen+3)&^3, len(a)):]
			}
			b = b[(size+3)&^3:]
		}
	}
}
