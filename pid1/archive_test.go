package pid1

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// sameTree fails unless both directories hold the same names, kinds,
// permissions and bytes.
func sameTree(t *testing.T, want, got string) {
	t.Helper()
	list := func(dir string) map[string]string {
		files := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(dir, path)
			info, err := entry.Info()
			if err != nil {
				return err
			}
			var text []byte
			switch entry.Type() {
			case 0:
				text, err = os.ReadFile(path)
			case fs.ModeSymlink:
				var link string
				link, err = os.Readlink(path)
				text = []byte(link)
			}
			files[name] = info.Mode().String() + " " + string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	a, b := list(want), list(got)
	for name := range a {
		if name != "." && a[name] != b[name] {
			t.Errorf("%s differs: %.60q came back as %.60q", name, a[name], b[name])
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			t.Errorf("%s was never there", name)
		}
	}
}

func TestPackUnpack(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "new")
	for name, data := range map[string][]byte{"a": nil, "d/e/f": sampleBytes(70_000), "d/g": []byte("text\n")} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("d/g", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := pack(&packed, dir); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(&packed, out); err != nil {
		t.Fatal(err)
	}
	sameTree(t, dir, out)
}

func TestPackLeavesSocketsOut(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var packed bytes.Buffer
	if err := pack(&packed, dir); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := Unpack(&packed, out); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 0 {
		t.Errorf("%v came back", entries)
	}
}

func TestUnpackStaysInside(t *testing.T) {
	outside := t.TempDir()
	for name, heads := range map[string][]tar.Header{
		"parent":   {{Name: "../x", Typeflag: tar.TypeReg, Mode: 0o600}},
		"absolute": {{Name: filepath.Join(outside, "x"), Typeflag: tar.TypeReg, Mode: 0o600}},
		"through a link": {
			{Name: "l", Typeflag: tar.TypeSymlink, Linkname: outside},
			{Name: "l/x", Typeflag: tar.TypeReg, Mode: 0o600},
		},
	} {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		w := tar.NewWriter(zip)
		for _, head := range heads {
			if err := w.WriteHeader(&head); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		zip.Close()
		if err := Unpack(&packed, filepath.Join(t.TempDir(), "out")); err == nil {
			t.Errorf("%s: unpacked", name)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("%v were written outside", entries)
	}
}
