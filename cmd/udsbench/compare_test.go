package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"udsbench/record"
)

// side writes the records of a campaign of 5 boots with 6 runs of two cells at
// about that level, and noise from boot to boot; spoil changes each.
func side(t *testing.T, dir, name string, level, noise float64, spoil func(*record.Run)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(name)), uint64(level)))
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	for boot := range 5 {
		own := noise * rng.NormFloat64()
		for seq := range 12 {
			rate := level * math.Exp(own+0.002*rng.NormFloat64())
			r := record.Run{Schema: record.Schema, Session: fmt.Sprint(name, boot), Boot: fmt.Sprint(name, boot), Seq: seq, Block: seq / 2,
				Kind: record.Timed, Status: record.OK, OpsPerS: &rate, Start: fmt.Sprintf("2026-03-01T10:%02d:%02dZ", boot, seq),
				Cell: record.Cell{Workload: "pingpong", Transport: "unix-stream", Address: "path", Parallel: 1 + seq%2, Model: "process", ServerModel: "process",
					Placement: "free", Policy: "inherit", Request: 64, Response: 64, Clock: "vdso", Params: map[string]string{}}}
			if spoil != nil {
				spoil(&r)
			}
			if err := enc.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func sides(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	side(t, dir, "base", 100000, 0.002, nil)
	side(t, dir, "alike", 100050, 0.002, nil)
	side(t, dir, "slower", 90000, 0.002, nil)
	side(t, dir, "faster", 110000, 0.002, nil)
	side(t, dir, "noisy", 97000, 0.05, nil)
	side(t, dir, "mixed", 90000, 0.002, func(r *record.Run) { // one cell slower, of the other every run failed
		if r.Cell.Parallel == 2 {
			r.Status, r.OpsPerS, r.Error = record.Failed, nil, &record.Error{Worker: -1, What: "gone"}
		}
	})
	side(t, dir, "failed", 100000, 0.002, func(r *record.Run) {
		if r.Cell.Parallel == 2 {
			r.Status, r.OpsPerS, r.Error = record.Failed, nil, &record.Error{Worker: -1, What: "gone"}
		}
	})
	side(t, dir, "other", 100000, 0.002, func(r *record.Run) { r.Cell.Workload = "fanin" })
	side(t, dir, "oneboot", 90000, 0.002, func(r *record.Run) { r.Boot, r.Session = "x", "x" })
	for name, text := range map[string]string{"empty": "", "prose": "This is no result.\nNor is this.\n", "newer": `{"schema":99,"status":"ok"}` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "nosession"), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What scripts rely on.
func TestCompareStatus(t *testing.T) {
	dir := sides(t)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"base alike", 0, "2 same"},
		{"base slower", 0, "2 slower"},
		{"base noisy", 0, "2 undecided"},
		{"base alike --fail-on slower", 0, "2 same"},
		{"base faster --fail-on slower,undecided", 0, "2 faster"},
		{"base slower --fail-on slower", 1, "2 slower"},
		{"base slower --fail-on undecided", 0, "2 slower"},
		{"base noisy --fail-on slower", 3, "2 undecided"},
		{"base noisy --fail-on undecided", 1, "2 undecided"},
		{"base noisy --fail-on slower --fail-on undecided", 1, "2 undecided"},
		{"base failed", 1, "1 failed"},
		{"base failed --fail-on slower", 1, "1 failed"},
		{"base oneboot", 0, "boot to boot unknown"},
		{"base oneboot --fail-on slower", 3, "boot to boot unknown"},
		{"base oneboot --fail-on slower --unit run", 1, "2 slower"},
		{"base slower --fail-on slower --threshold 20%", 0, "2 same"},
		{"base slower --fail-on slower --explain 1", 1, "So: slower"},
		{"base slower --fail-on slower --json", 1, `"verdict":"slower"`},
		{"base --self --splits 50", 0, "against itself"},

		{"base alike --bisect", 0, "2 same"},
		{"base faster --bisect", 0, "2 faster"},
		{"base slower --bisect", 1, "2 slower"},
		{"base mixed --bisect", 1, "1 failed"},
		{"base noisy --bisect", 125, "2 undecided"},
		{"base failed --bisect", 125, "1 failed"},
		{"base oneboot --bisect", 125, "boot to boot unknown"},
		{"base slower --bisect --fail-on undecided", 1, "2 slower"},
	} {
		r := udsbench(t, dir, append([]string{"compare"}, strings.Fields(c.args)...)...)
		if r.status != c.status || !strings.Contains(r.out, c.says) {
			t.Errorf("compare %s: want status %d and %q\n%v", c.args, c.status, c.says, r)
		}
	}
}

// Wrong usage is one line that names the value and the mend, and status 2;
// under --bisect it is 125, or git would blame the kernel.
func TestCompareUsage(t *testing.T) {
	dir := sides(t)
	for _, c := range []struct{ args, says string }{
		{"", "compare needs two sessions"},
		{"base", "one side alone: name a second one"},
		{"base base", "base is named twice: a session is set against itself with --self"},
		{"base ./base", "./base is named twice"},
		{"base alike,alike", "alike is named twice"},
		{"base nonesuch", "nonesuch: no such file or directory"},
		{"base nosession", "nosession is no session and holds none"},
		{"base empty", "empty: is in no format that is known"},
		{"base prose", "prose: is in no format that is known"},
		{"base newer", "newer: record 1 has schema 99: this version reads up to 1"},
		{"base other", "the two sides have no cell in common; a field that is meant to differ is named with --factor"},
		{"base alike --threshold 200%", "--threshold 200%: give a share"},
		{"base alike --threshold much", "--threshold much: give a share"},
		{"base alike --unit day", "--unit day: there are boot and run"},
		{"base alike --discard some", "--discard some: give a number of runs, or auto"},
		{"base alike --metric p42", `"p42" is not known; there are ops_per_s, mean, p50`},
		{"base alike --fail-on faster", "--fail-on faster: there are slower and undecided"},
		{"base alike --where parallel", "--where parallel: write FIELD=VALUE"},
		{"base alike --where colour=red", "--where colour: no cell has that field"},
		{"base alike --where parallel=7", "--where leaves no run"},
		{"base --factor colour", "--factor colour: neither the cells nor the environments have that field"},
		{"base --factor model", "--factor model: it is process everywhere"},
		{"base --factor parallel=1,7", "--factor parallel=7: there are 1, 2"},
		{"base --factor parallel,model --bisect", "--factor model: it is process everywhere"},
		{"base alike --explain 9", `there is no cell "9"`},
		{"base alike --explain parallel", `"parallel" is in the names of 2 cells`},
		{"base alike --explain 1 --json", "--explain is text: leave --json out"},
		{"base alike --self", "--self takes one session, not 2"},
		{"base --self --bisect", "--self gives no verdicts: leave --bisect out"},
		{"base --self --fail-on slower", "--self gives no verdicts: leave --fail-on out"},
		{"base --self --splits 0", "--splits 0 is not at least 1"},
		{"base alike --set parallel", "--set parallel: write NAME=VALUE"},
		{"base alike --format word", "--format word: there are records, super-smack"},
		{"base alike --nonesuch", "unknown flag: --nonesuch"},
	} {
		want := 2
		if strings.Contains(c.args, "--bisect") {
			want = 125
		}
		for _, more := range []string{"", " --bisect"} {
			if more != "" && (want == 125 || strings.Contains(c.args, "--self")) {
				continue
			}
			r := udsbench(t, dir, append([]string{"compare"}, strings.Fields(c.args+more)...)...)
			if more != "" {
				want = 125
			}
			if r.status != want || r.out != "" || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, c.says) {
				t.Errorf("compare %s: want status %d and one line with %q\n%v", c.args+more, want, c.says, r)
			}
		}
	}
}

// What import makes is read as a session by whatever reads sessions.
func TestImportIsASession(t *testing.T) {
	dir := tempDir(t)
	matrix, err := filepath.Abs("../../importer/testdata/super-smack/smack-htt-matrix-2006-07.raw.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := udsbench(t, dir, "import", matrix, "--out", "htt")
	if r.status != 0 || !strings.Contains(r.out, "24 runs (super-smack)") || !strings.Contains(r.out, "session: htt") {
		t.Fatal(r)
	}
	var files []string
	entries, err := os.ReadDir(filepath.Join(dir, "htt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, e.Name())
	}
	if !slices.Equal(files, []string{"environment.json", "plan.json", "runs.jsonl", "workers.jsonl"}) {
		t.Errorf("the session has %v", files)
	}
	var env struct {
		Imported    []struct{ Name, Format string }
		Unavailable map[string]string
	}
	text, err := os.ReadFile(filepath.Join(dir, "htt", "environment.json"))
	if err == nil {
		err = json.Unmarshal(text, &env)
	}
	if err != nil || len(env.Imported) != 1 || env.Imported[0].Format != "super-smack" || env.Unavailable["kernel"] == "" || env.Unavailable["boot_id"] == "" {
		t.Errorf("%v: %s", err, text)
	}
	factor := []string{"--factor", "section.3=HTT off,HTT on", "--where", "section.1=4BSD", "--where", "section.2=libthr"}
	raw := udsbench(t, dir, append([]string{"compare", matrix}, factor...)...)
	kept := udsbench(t, dir, append([]string{"compare", "htt"}, factor...)...)
	if raw.status != 0 || raw != kept || !strings.Contains(raw.out, "+10.5 %") || !strings.Contains(raw.out, "faster: this boot only") {
		t.Errorf("from the text: %v\nfrom the session: %v", raw, kept)
	}
	printed := udsbench(t, dir, "import", "htt", "--json")
	if all := records(t, printed.out); printed.status != 0 || len(all) != 24 || all[23].Session != "htt" || all[23].Seq != 23 {
		t.Errorf("%d records\n%v", len(all), printed)
	}
	if r := udsbench(t, dir, "locks", "htt"); r.status != 2 || !strings.Contains(r.err, "no run was instrumented") {
		t.Error(r)
	}
	for _, c := range []struct{ args, says string }{
		{"run --resume htt", "--resume htt: it was imported"},
		{"import " + matrix + " --out htt", "--out htt: has files in it"},
		{"import nonesuch", "nonesuch: no such file or directory"},
		{"import", "requires at least 1 arg"},
		{"export htt --to word", "--to word: there are gobench, ministat, csv"},
	} {
		if r := udsbench(t, dir, strings.Fields(c.args)...); r.status != 2 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: want status 2 and one line with %q\n%v", c.args, c.says, r)
		}
	}
	// Two files in one session are told apart.
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1000\n1010\n1005\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if r := udsbench(t, dir, "import", "one", "two", "--out", "both"); r.status != 0 {
		t.Fatal(r)
	}
	if r := udsbench(t, dir, "compare", "both", "--factor", "file"); r.status != 2 || !strings.Contains(r.err, "the very same figures") {
		t.Error(r)
	}
}
