package pid1

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestScripts reads every case of testdata/scripts: what the kernel or the
// file says, a line "--", and the words of each line, separated by |, or
// "error: " and a part of it.
func TestScripts(t *testing.T) {
	read := map[string]func(string) string{
		".script":  func(text string) string { return text },
		".cmdline": cmdlineScript,
		".kenv":    func(text string) string { return kenvScript(strings.ReplaceAll(text, "\n", "\x00")) },
	}
	files, err := filepath.Glob("testdata/scripts/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given, want, ok := strings.Cut(string(text), "--\n")
			if !ok {
				t.Fatal("no line -- in it")
			}
			script, err := parseScript(read[filepath.Ext(file)](given))
			if wantErr, ok := strings.CutPrefix(want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(wantErr)) {
					t.Fatalf("error %v, want %s", err, wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, words := range script {
				got.WriteString(strings.Join(words, "|") + "\n")
			}
			if got.String() != want {
				t.Errorf("got\n%swant\n%s", got.String(), want)
			}
		})
	}
}

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{
		"0": {0}, "3,1": {3, 1}, "1-3": {1, 2, 3}, "1-2,4-6": {1, 2, 4, 5, 6}, "0-1+1030": {0, 1, 1030},
		"": nil, ",": nil, "3-1": nil, "a": nil, "1-": nil, "-1": nil, "70000": nil,
	} {
		got, err := parseCPUs(list)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("parseCPUs(%q) = %v, %v, want %v", list, got, err, want)
		}
	}
}

// FuzzScript holds that what a script quotes is what its words are.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{"", "run", `it's "so" \ # $x`, "a\nb", "server=0-5;client=6+7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ContainsAny(word, "\r\n\x00") || strings.ToValidUTF8(word, "") != word {
			t.Skip() // a script holds lines of text
		}
		// As scripts/vm quotes.
		quoted := "x '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		if strings.Contains(quoted, "\\\n") {
			t.Skip()
		}
		script, err := parseScript(quoted)
		if err != nil || len(script) != 1 || len(script[0]) != 2 || script[0][1] != word {
			t.Errorf("%q became %q, %v", quoted, script, err)
		}
		// The kernel's text may say the same in percent signs.
		var escaped strings.Builder
		for i := range len(quoted) {
			escaped.WriteString("%" + string("0123456789abcdef"[quoted[i]>>4]) + string("0123456789abcdef"[quoted[i]&15]))
		}
		if got := cmdlineScript("quiet udsbench.cmd=" + escaped.String() + " ro"); got != quoted+"\n" {
			t.Errorf("%q became %q", quoted, got)
		}
	})
}
