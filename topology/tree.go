package topology

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"udsbench/affinity"
)

// tree is a root directory: the live one, a recorded one, or one in an
// archive. Names are slash separated and do not begin with a slash.
type tree interface {
	read(name string) ([]byte, error)
	list(dir string) []string // names of the entries, in no order; none where there is no such directory
}

type diskTree struct{ root fs.FS }

func (t diskTree) read(name string) ([]byte, error) { return fs.ReadFile(t.root, name) }

func (t diskTree) list(dir string) []string {
	entries, err := fs.ReadDir(t.root, dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// archiveTree holds the files of an archive by name.
type archiveTree map[string][]byte

func (t archiveTree) read(name string) ([]byte, error) {
	data, found := t[name]
	if !found {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return data, nil
}

func (t archiveTree) list(dir string) []string {
	seen := make(map[string]bool)
	var names []string
	for name := range t {
		if rest, inside := strings.CutPrefix(name, dir+"/"); inside {
			entry, _, _ := strings.Cut(rest, "/")
			if !seen[entry] {
				seen[entry] = true
				names = append(names, entry)
			}
		}
	}
	return names
}

// archiveLimit bounds what is unpacked from an archive: the largest recorded
// machine needs 1 MB.
const archiveLimit = 256 << 20

// readArchive unpacks the sys, proc and dev of a recorded machine from a
// tar.gz. A leading directory, which such archives have, is taken off.
func readArchive(data []byte) (tree, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(io.LimitReader(unzipped, archiveLimit))
	files := make(archiveTree)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files[belowRoot(path.Clean("/" + header.Name)[1:])] = content
	}
	if len(files.list("sys"))+len(files.list("proc")) == 0 {
		return nil, errors.New("no sys or proc in it")
	}
	return files, nil
}

// belowRoot takes off what stands before sys, proc, dev or cgroup.
func belowRoot(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if slices.Contains([]string{"sys", "proc", "dev", "cgroup"}, part) && i <= 1 {
			return strings.Join(parts[i:], "/")
		}
	}
	return name
}

// text reads a small file, without the newline and the NUL that recordings
// end with, and says whether it is there.
func text(t tree, name string) (string, bool) {
	data, err := t.read(name)
	if err != nil {
		return "", false
	}
	return strings.Trim(string(data), " \t\n\x00"), true
}

func integer(t tree, name string) (int, bool) {
	s, found := text(t, name)
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// cpuSet reads a set of CPUs from the first of the files that is there. Names
// that end in "list" hold ranges, as do "online" and "present"; others hold
// masks.
func cpuSet(t tree, names ...string) (map[int]bool, bool) {
	for _, name := range names {
		s, found := text(t, name)
		if !found {
			continue
		}
		var cpus []int
		var err error
		if strings.HasSuffix(name, "list") || path.Dir(name) == cpuDir {
			cpus, err = affinity.ParseList(s)
		} else {
			cpus, err = parseMask(s)
		}
		if err != nil {
			continue
		}
		set := make(map[int]bool, len(cpus))
		for _, c := range cpus {
			set[c] = true
		}
		return set, true
	}
	return nil, false
}

// parseMask reads a mask as Linux prints it: words of 32 bits in hexadecimal,
// separated by commas, the highest first.
func parseMask(s string) ([]int, error) {
	var cpus []int
	words := strings.Split(s, ",")
	for i := len(words) - 1; i >= 0; i-- {
		word, err := strconv.ParseUint(words[i], 16, 32)
		if err != nil {
			return nil, fmt.Errorf("mask %q: word %q is no hexadecimal number of 32 bits", s, words[i])
		}
		base := (len(words) - 1 - i) * 32
		if base > affinity.MaxCPU {
			return nil, fmt.Errorf("mask %q is too long", s)
		}
		for bit := range 32 {
			if word&(1<<bit) != 0 {
				cpus = append(cpus, base+bit)
			}
		}
	}
	return cpus, nil
}

func openTree(root string) (tree, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory", root)
	}
	return diskTree{os.DirFS(root)}, nil
}
