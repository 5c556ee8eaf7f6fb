package pid1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func sampleBytes(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(data)
	return data
}

func framed(t testing.TB, data []byte) string {
	var b bytes.Buffer
	if err := WriteFrame(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFrameComesBack(t *testing.T) {
	for _, n := range []int{0, 1, 95, 96, 97, 10_000} {
		data := sampleBytes(n)
		text := framed(t, data)
		for name, text := range map[string]string{
			"alone":            text,
			"on a console":     "[    0.1] boot\r\n" + strings.ReplaceAll(text, "\n", "\r\n") + "reboot: Power down\r\n",
			"on a disk":        text + "\n\n\n" + strings.Repeat("\x00", 5000),
			"over an old one":  text + framed(t, sampleBytes(n+1000))[len(text)/2:],
			"after an old one": framed(t, sampleBytes(n+1)) + text,
		} {
			got, err := ReadFrame(strings.NewReader(text))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %s: %d bytes came back, %v", n, name, len(got), err)
			}
		}
	}
}

// TestFrameCopiesMend writes kernel messages into the middle of lines, each
// copy damaged at other places.
func TestFrameCopiesMend(t *testing.T) {
	data := sampleBytes(50_000)
	text := framed(t, data)
	noise := func(seed uint64, every int) string {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for line := range strings.Lines(text) {
			if r.IntN(every) == 0 {
				at := r.IntN(len(line))
				line = line[:at] + "[   12.345678] clocksource: Long readout interval\r\n" + line[at:]
			}
			b.WriteString(line)
		}
		return b.String()
	}
	for seed := range uint64(20) {
		one, two := noise(2*seed, 60), noise(2*seed+1, 60)
		got, err := ReadFrame(strings.NewReader(one + two))
		if err != nil {
			// The same line may be hit twice: then it must say so, and never
			// give wrong bytes.
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		if !bytes.Equal(got, data) {
			t.Fatalf("seed %d: wrong bytes and no error", seed)
		}
		if _, err := ReadFrame(strings.NewReader(one)); err == nil {
			t.Errorf("seed %d: one damaged copy read as whole", seed)
		}
		return
	}
	t.Error("no pair of copies was mended")
}

func TestFrameErrors(t *testing.T) {
	text := framed(t, sampleBytes(1000))
	for name, c := range map[string]struct{ text, want string }{
		"nothing":  {"[ 0.1] Kernel panic - not syncing\n", "no results"},
		"cut":      {text[:len(text)/2], "damaged"},
		"no begin": {text[strings.Index(text, " 0 "):], "no begin line"},
		"flipped":  {strings.Replace(text, " 3 ", " 4 ", 1), "line 3 did not"},
	} {
		if _, err := ReadFrame(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestFrameRecorded reads what a booted machine's console held.
func TestFrameRecorded(t *testing.T) {
	console, err := os.Open("testdata/console.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	data, err := ReadFrame(console)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Unpack(bytes.NewReader(data), dir); err != nil {
		t.Fatal(err)
	}
	report, err := ReadReport(dir)
	if err != nil || report.Status() != 0 || len(report.Commands) != 1 || report.Commands[0].Args[1] != "hello" {
		t.Errorf("%+v, %v", report, err)
	}
}

// FuzzReadFrame holds that whatever a console shows, only data whose checksum
// stands in it comes back.
func FuzzReadFrame(f *testing.F) {
	for _, n := range []int{0, 1, 200} {
		f.Add([]byte(framed(f, sampleBytes(n))))
	}
	f.Add([]byte("[    0.1] boot\r\n" + strings.ReplaceAll(framed(f, []byte("x")), "\n", "\r\n")))
	f.Add([]byte("udsbench| begin 00000000 99999999999 0000000000000000000000000000000000000000000000000000000000000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ReadFrame(bytes.NewReader(text))
		if sum := sha256.Sum256(got); err == nil && !bytes.Contains(text, []byte(hex.EncodeToString(sum[:]))) {
			t.Errorf("%d bytes that nobody sent", len(got))
		}
	})
}
