package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

type zipfile struct {
	r    *zip.Reader
	done int // entries
}

// percent implements source.
func (z *zipfile) percent() int { return 100 * z.done / max(len(z.r.File), 1) }

func openZip(r io.ReaderAt, size int64) (source, error) {
	bounded := &allowance{r: r, left: directoryBytes}
	z, err := zip.NewReader(bounded, size)
	if bounded.left < 0 {
		return nil, refuse("its directory has more than %d bytes", directoryBytes)
	}
	bounded.off = true
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked one by one
		return nil, refuse("its zip directory cannot be read (%v)", err)
	}
	return &zipfile{r: z}, nil
}

// directoryBytes limits how much of a zip's directory is read, and so its memory use:
// all its entries are read before the first is checked.
const directoryBytes = 256 << 20

// allowance limits what is read until it is turned off.
type allowance struct {
	r    io.ReaderAt
	left int64 // below 0: more was requested
	off  bool
}

func (a *allowance) ReadAt(p []byte, off int64) (int, error) {
	if !a.off {
		if a.left -= int64(len(p)); a.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return a.r.ReadAt(p, off)
}

func (z *zipfile) each(f func(entry, func() (io.Reader, error)) error) error {
	for _, file := range z.r.File {
		if err := eachZipped(file, f); err != nil {
			return err
		}
		z.done++
	}
	return nil
}

func eachZipped(file *zip.File, f func(entry, func() (io.Reader, error)) error) error {
	name, err := cleanName(zippedName(file))
	if err != nil {
		return err
	}
	if name == "" {
		return nil
	}
	if file.Flags&1 != 0 {
		return refuse("%q is encrypted", name)
	}
	e := entry{name: name, mode: file.Mode(), modeless: !hasMode(file), size: int64(min(file.UncompressedSize64, 1<<62))}
	if strings.HasSuffix(file.Name, `\`) {
		e.mode |= fs.ModeDir
	}
	if e.mode&fs.ModeSymlink != 0 {
		if e.link, err = zippedLink(file); err != nil {
			return err
		}
	}
	var content io.ReadCloser
	err = f(e, func() (io.Reader, error) {
		var err error
		if content, err = file.Open(); err != nil {
			return nil, refuse("%q cannot be read (%v)", name, err)
		}
		return zipped{content, name}, nil
	})
	if content != nil {
		content.Close()
	}
	return err
}

// hasMode reports whether the program that wrote an entry gave it a Unix mode (APPNOTE 4.4.2).
func hasMode(file *zip.File) bool {
	const unix, macOS = 3, 19
	by := file.CreatorVersion >> 8
	return (by == unix || by == macOS) && file.ExternalAttrs>>16 != 0
}

// zippedLink reads a link's target, which zip stores as the content.
func zippedLink(file *zip.File) (string, error) {
	r, err := file.Open()
	if err != nil {
		return "", refuse("%q cannot be read (%v)", file.Name, err)
	}
	defer r.Close()
	target, err := io.ReadAll(io.LimitReader(r, maxName+1))
	if err != nil {
		return "", refuse("%q cannot be read (%v)", file.Name, err)
	}
	return string(target), nil
}

// zipped converts errors of damaged content to refusals.
type zipped struct {
	io.Reader
	name string
}

func (z zipped) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, refuse("%q is damaged (%v)", z.name, fmt.Errorf("%w", err))
}
