package topology

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// screen is what a person sees without scrolling.
const (
	screenWidth  = 80
	screenHeight = 50
)

func fits(t *testing.T, what, text string) {
	t.Helper()
	if n := strings.Count(text, "\n"); n > screenHeight {
		t.Errorf("%s: %d lines\n%s", what, n, text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > screenWidth || strings.TrimRight(line, " ") != line {
			t.Errorf("%s: %d characters: %q", what, n, line)
		}
	}
}

// Every recorded machine, and 256 CPUs in several shapes with a thousand
// workers, fit one screen, and show every online CPU once.
func TestDrawingsFitAScreen(t *testing.T) {
	machines := make(map[string]*Machine)
	files, _ := filepath.Glob("testdata/machines/linux/*")
	texts, _ := filepath.Glob("testdata/machines/freebsd*/*.xml")
	for _, file := range append(files, texts...) {
		m, err := FromFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m.Source = filepath.Base(file)
		machines[m.Source] = m
	}
	for _, spec := range []string{"epyc-2x64", "opteron-4x2", "opteron-4x16", "xeon-htt", "xeon-htt-2c",
		"pack:8 numa:1 core:32", "numa:1 pack:64 core:1 pu:4", "pack:1 core:256", "pack:16 numa:1 l3:2 l2:2 core:2 pu:2", "pack:4 die:2 numa:1 l3:4 core:8"} {
		m, err := Describe(spec)
		if err != nil {
			t.Fatal(err)
		}
		machines[spec] = m
	}
	for name, m := range machines {
		plain := m.Draw(nil)
		fits(t, name, plain)
		for _, placement := range []string{"free", "spread", "scatter", "cross", "smt"} {
			for _, workers := range [][]Worker{pairsOf(2), pairsOf(500), clientsOf(999, 1)} {
				if p, err := m.Place(placement, workers); err == nil {
					fits(t, name+" "+placement, m.Draw(p))
				}
			}
		}
	}
}

func TestDrawings(t *testing.T) {
	show := func(golden_, from, placement string, workers []Worker) {
		t.Helper()
		m, err := Describe(from)
		if strings.HasSuffix(from, ".tar.gz") {
			m, err = FromFile("testdata/machines/linux/" + from)
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Source = filepath.Base(m.Source)
		var p *Placement
		if placement != "" {
			if p, err = m.Place(placement, workers); err != nil {
				t.Fatal(err)
			}
		}
		golden(t, "testdata/drawn/"+golden_+".txt", m.Draw(p))
	}
	show("opteron-hop", "opteron-4x2", "hop=2", pairsOf(2))
	show("htt-crowded", "xeon-htt", "smt", pairsOf(50))
	show("one-server", "xeon-htt-2c", "cross", clientsOf(3, 1))
	show("epyc", "epyc-2x64", "", nil)
	show("epyc-partition", "epyc-2x64", "partition=3:1", pairsOf(500))
	show("hybrid", "20em64t-hybrid-1p6c2t-2ca4co1t.tar.gz", "free", pairsOf(2))
	show("offline", "vm-opteron-4s2c-cpuset.tar.gz", "spread", pairsOf(1))
	show("power7", "256ppc-8n8s4t.tar.gz", "", nil)
	show("bulldozer", "64amd64-4s2n4ca2co.tar.gz", "", nil)
}
