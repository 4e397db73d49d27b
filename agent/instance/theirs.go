package instance

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// theirs is a folder that game servers own, opened so that the agent, which has more
// privileges, can use it safely: links cannot lead out of the folder, and opening a
// pipe does not block.
type theirs struct{ top *os.Root }

// openTheirs opens a game server's folder, whose parent is the agent's.
func openTheirs(dir string) (theirs, error) {
	top, err := os.OpenRoot(dir)
	return theirs{top}, err
}

func (t theirs) Close() error { return t.top.Close() }

// Open opens a regular file or a folder (fs.FS). It refuses other files, such as pipes,
// which could block until a process writes to them.
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

// put creates a file, replacing whatever has its name.
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
