package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// writer unpacks entries into a folder. Links are created last, so that no entry can
// be written through one.
type writer struct {
	root  *os.Root
	in    *inspector
	links []entry

	executable bool     // a file has the execute permission
	programs   []string // files without it that are programs by their content
}

func (w *writer) write(e entry, open func() (io.Reader, error)) error {
	if e.mode.IsDir() {
		return w.folder(e.name)
	}
	if err := w.folder(path.Dir(e.name)); err != nil {
		return err
	}
	if e.mode&fs.ModeSymlink != 0 {
		w.links = append(w.links, e)
		return nil
	}
	if e.hard {
		if err := w.root.Link(e.link, e.name); err != nil {
			return fmt.Errorf("unpack %q: %w", e.name, err)
		}
		return nil
	}
	content, err := open()
	if err != nil {
		return err
	}
	return w.file(e, w.in.meter(content))
}

func (w *writer) folder(name string) error {
	if name == "." {
		return nil
	}
	if err := w.root.MkdirAll(name, 0o755); err != nil {
		return w.explain(name, err)
	}
	return nil
}

// file writes one file. Of the mode only the execute permission is kept.
func (w *writer) file(e entry, content io.Reader) error {
	head := bufio.NewReader(content)
	start, err := head.Peek(ProgramHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("unpack %q: %w", e.name, err)
	}
	mode := fs.FileMode(0o644)
	switch program := IsProgram(start); {
	case e.modeless && program:
		mode = 0o755
	case e.mode&0o111 != 0:
		mode, w.executable = 0o755, true
	case program:
		w.programs = append(w.programs, e.name)
	}
	file, err := w.root.OpenFile(e.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return w.explain(e.name, err)
	}
	_, err = io.Copy(file, head)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("unpack %q: %w", e.name, err)
	}
	return nil
}

// ProgramHead is how many of a file's first bytes IsProgram looks at.
const ProgramHead = 4

// IsProgram reports whether a file that begins so is a program or a script for a Unix system.
func IsProgram(head []byte) bool {
	for _, magic := range []string{
		"\x7fELF", "#!",
		"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe", // macOS
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

func (w *writer) finish() error {
	for _, name := range w.programs {
		if w.executable {
			break // the archive has modes
		}
		if err := w.root.Chmod(name, 0o755); err != nil {
			return fmt.Errorf("unpack %q: %w", name, err)
		}
	}
	for _, e := range w.links {
		if err := w.root.Symlink(e.link, e.name); err != nil {
			return w.explain(e.name, err)
		}
	}
	for _, e := range w.links { // a link may lead through others: its final target must be inside as well
		if _, err := w.root.Stat(e.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return refuse("the link %q leads out of the archive", e.name)
		}
	}
	return nil
}

// explain distinguishes an inconsistent archive from a failing machine.
func (w *writer) explain(name string, err error) error {
	switch info, unseen := w.root.Lstat(name); {
	case errors.Is(err, errNotFolder), errors.Is(err, fs.ErrExist) && unseen == nil && info.IsDir():
		return refuse("%q is both a file and a folder", name)
	case errors.Is(err, fs.ErrExist):
		return refuse("%q is in it twice", name)
	}
	return fmt.Errorf("unpack %q: %w", name, err)
}
