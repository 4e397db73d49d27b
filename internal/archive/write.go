package archive

import (
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
	mode := fs.FileMode(0o644)
	if e.mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := w.root.OpenFile(e.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return w.explain(e.name, err)
	}
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("unpack %q: %w", e.name, err)
	}
	return nil
}

func (w *writer) finish() error {
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
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errNotFolder) {
		return refuse("%q is in it twice, or is both a file and a folder", name)
	}
	return fmt.Errorf("unpack %q: %w", name, err)
}
