package agent

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// theirs is a folder that game servers own, for us who may do more than they. No
// link in it leads us out of it, and nothing in it has us wait.
type theirs struct{ top *os.Root }

// openTheirs opens a folder that lies in one of ours.
func openTheirs(dir string) (theirs, error) {
	top, err := os.OpenRoot(dir)
	return theirs{top}, err
}

func (t theirs) Close() error { return t.top.Close() }

// Open opens what is a file or a folder (fs.FS). The opening and the reading of a
// pipe would last until somebody writes.
func (t theirs) Open(name string) (fs.File, error) {
	file, err := t.top.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNoFile}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

var errNoFile = errors.New("neither a file nor a folder")

// put makes a file, in place of whatever has its name.
func (t theirs) put(name, text string) error {
	if err := t.top.RemoveAll(name); err != nil {
		return err
	}
	file, err := t.top.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(text); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
