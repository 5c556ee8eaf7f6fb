package pingpong

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"udsbench/record"
)

// What the workers take for granted of a FreeBSD kernel, asked of the kernel.

func pair(t *testing.T, transport string) (a, b int) {
	t.Helper()
	x, y, err := openPair(transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(x.R, x.W, y.R, y.W) })
	return x.W, y.R
}

func TestSeqpacketRecords(t *testing.T) {
	a, b := pair(t, "unix-seqpacket")
	for range 2 {
		if err := unix.Sendto(a, []byte("12345678"), recordFlag, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := unix.Read(b, make([]byte, 100)); n != 8 || err != nil {
		t.Errorf("of two records of 8 bytes a read took %d (%v)", n, err)
	}
}

func TestFullDatagramReceiver(t *testing.T) {
	a, b := pair(t, "unix-dgram")
	if !drained(b) {
		t.Error("nothing was sent, and something is to be read")
	}
	var err error
	sent := 0
	for ; err == nil && sent < 10_000; sent++ {
		_, err = unix.Write(a, make([]byte, 1000))
	}
	if err != unix.ENOBUFS {
		t.Fatalf("after %d datagrams: %v", sent, err)
	}
	for n := 1; n < sent; n++ {
		if drained(b) {
			t.Fatalf("drained after %d of %d datagrams", n-1, sent-1)
		}
		if _, err := unix.Read(b, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if !drained(b) {
		t.Error("all was read, and it is not drained")
	}
}

// A datagram that an empty buffer does not hold is refused as by a full one, and
// so is the parameter.
func TestDatagramOverTheBuffer(t *testing.T) {
	const n = 1000
	a, b := pair(t, "unix-dgram")
	for size, want := range map[int]error{leastBuffer(n): nil, n: unix.ENOBUFS} {
		for _, fd := range []int{a, b} {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, size); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := unix.Write(a, make([]byte, n)); err != want {
			t.Errorf("a buffer of %d bytes, a datagram of %d: %v, want %v", size, n, err, want)
		}
		unix.Recvfrom(b, make([]byte, n), unix.MSG_DONTWAIT)
	}
	c := filled(record.Cell{Workload: "fanin-dgram", Params: map[string]string{"buffer": "1"}})
	if err := (Catalogue{}).Check(c); err == nil || !strings.Contains(err.Error(), "never fit into it; give 170 or more") {
		t.Errorf("buffer=1: %v", err)
	}
}

func TestFullBacklogRefuses(t *testing.T) {
	c := record.Cell{Transport: "unix-stream", Address: "path"}
	dir := t.TempDir()
	l, _, err := listen(c, dir, "s", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	for n := 0; ; n++ {
		fd, err := dial(c, dir, "s", 0)
		if err != nil {
			if !refusedWhenFull(c.Transport, err) {
				t.Errorf("connect %d to %s: %v", n, filepath.Join(dir, "s"), err)
			}
			return
		}
		defer unix.Close(fd)
		if n > 100 {
			t.Fatal("a backlog of 1 took 100 connections")
		}
	}
}

// A shutdown of a listener ends one accept, and of an unconnected datagram
// socket its read.
func TestShutdownWakes(t *testing.T) {
	dir := t.TempDir()
	l, _, err := listen(record.Cell{Transport: "unix-stream", Address: "path"}, dir, "l", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	d, err := bind(record.Cell{Transport: "unix-dgram", Address: "path"}, dir, "d")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(d)
	for name, block := range map[string]func() error{
		"accept": func() error {
			_, err := accept(l)
			return err
		},
		"read": func() error {
			_, err := unix.Read(d, make([]byte, 1))
			return err
		},
	} {
		done := make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			done <- block()
		}()
		time.Sleep(50 * time.Millisecond)
		fd := map[string]int{"accept": l, "read": d}[name]
		if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != unix.ENOTCONN {
			t.Errorf("shutdown for %s: %v", name, err)
		}
		select {
		case err := <-done:
			if name == "accept" && !errors.Is(err, unix.ECONNABORTED) || name == "read" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s was not woken", name)
		}
	}
}

// The gate's words, between two mappings of one object, as two processes have
// them.
func TestGateWords(t *testing.T) {
	fd, err := NewMemoryFile(MemoryBytes(0))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var memories [2]*Memory
	for i := range memories {
		if memories[i], err = MapMemory(fd, 0); err != nil {
			t.Fatal(err)
		}
		defer memories[i].Unmap()
	}
	start := Nanotime()
	memories[0].Control().Wait(0, int64(20*time.Millisecond))
	if took := Nanotime() - start; took < int64(20*time.Millisecond) {
		t.Errorf("a wait of 20 ms took %v", time.Duration(took))
	}
	done := make(chan uint32)
	go func() { done <- memories[0].Control().awaitPhase(PhaseConnect) }()
	time.Sleep(50 * time.Millisecond)
	memories[1].Control().Turn(PhaseConnect)
	select {
	case p := <-done:
		if p != PhaseConnect {
			t.Errorf("phase %d", p)
		}
	case <-time.After(10 * time.Second):
		t.Error("the other mapping's waiter was not woken")
	}
	past := Nanotime() - 1
	rawWaitUntil(&memories[0].Control().Bell, 0, past) // returns at once
	rawWakeOne(&memories[0].Control().Bell)
}
