package install

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// protect removes write permission from the files of a build, which several instances
// share.
func protect(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o222|0o444)
	})
}

// Tree creates dir as a tree of an installed build: its own folders, hard links to
// the build's files, and the same symbolic links. Only its owner can enter it. If dir
// exists, Tree does nothing.
func Tree(build, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("make tree: %w", err)
	}
	err := filepath.WalkDir(build, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(build, path)
		if err != nil {
			return err
		}
		if rel == "." {
			return os.Mkdir(fresh, 0o700)
		}
		return place(path, filepath.Join(fresh, rel), d)
	})
	if err != nil {
		return fmt.Errorf("make tree: %w", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return fmt.Errorf("make tree: %w", err)
	}
	return nil
}

func place(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return os.Mkdir(to, 0o755)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !d.Type().IsRegular():
		return nil
	}
	if err := os.Link(from, to); err == nil {
		return nil
	}
	return duplicate(from, to) // a file system without hard links
}

func duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
