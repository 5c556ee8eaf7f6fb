package pid1

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pack writes the directories, files and symbolic links under dir as a
// gzipped tar. Sockets and the like have nothing to bring back and are left
// out. What cannot be read is left out too and named in the error.
func pack(w io.Writer, dir string) error {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	var unread error
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			unread = errors.Join(unread, err)
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "." {
			return err
		}
		switch entry.Type() {
		case 0, fs.ModeDir, fs.ModeSymlink:
		default:
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			unread = errors.Join(unread, err)
			return nil
		}
		link := ""
		var data []byte
		switch entry.Type() {
		case fs.ModeSymlink:
			link, err = os.Readlink(path)
		case 0:
			data, err = os.ReadFile(path)
		}
		if err != nil {
			unread = errors.Join(unread, err)
			return nil
		}
		head, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		head.Name = filepath.ToSlash(name)
		head.Uid, head.Gid, head.Uname, head.Gname = 0, 0, "", ""
		if entry.Type() == 0 {
			head.Size = int64(len(data)) // it may have grown since
		}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	})
	return errors.Join(err, unread, out.Close(), zip.Close())
}

// Unpack writes what a gzipped tar of results holds into dir, which is made.
// Nothing in it can reach outside dir.
func Unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("the results are no gzipped tar: %w", err)
	}
	in := tar.NewReader(zip)
	for {
		head, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the results are no whole tar: %w", err)
		}
		mode := head.FileInfo().Mode().Perm()
		switch head.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(head.Name, mode|0o700) // files go into it
		case tar.TypeSymlink:
			err = root.Symlink(head.Linkname, head.Name)
		case tar.TypeReg:
			err = unpackFile(root, head.Name, mode, in)
		default:
			err = fmt.Errorf("%s: of a kind that results never hold", head.Name)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, mode fs.FileMode, data io.Reader) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, data)
	return errors.Join(err, file.Close())
}
