package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
)

type tarball struct {
	section *io.SectionReader
	packed  bool
}

// percent implements source. The section is read from its beginning to its end.
func (t *tarball) percent() int {
	at, err := t.section.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return int(100 * at / max(t.section.Size(), 1))
}

func (t *tarball) each(f func(entry, func() (io.Reader, error)) error) error {
	var stream io.Reader = t.section
	if t.packed {
		z, err := gzip.NewReader(stream)
		if err != nil {
			return refuse("its gzip header is damaged (%v)", err)
		}
		defer z.Close()
		stream = z
	}
	r := tar.NewReader(stream)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return refuse("it is damaged (%v)", err)
		}
		e, skip, err := tarEntry(header)
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := f(e, func() (io.Reader, error) { return zipped{r, e.name}, nil }); err != nil {
			return err
		}
	}
}

// tarEntry converts a header; skip is true for a header that is not an entry.
func tarEntry(header *tar.Header) (e entry, skip bool, err error) {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader:
		return e, true, nil
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeGNUSparse:
	default:
		return e, false, refuse("%q is %s; only files, folders and links are allowed", header.Name, special(header.FileInfo().Mode()))
	}
	e.name, err = cleanName(header.Name)
	if err != nil || e.name == "" {
		return e, true, err
	}
	e.mode, e.size, e.link = header.FileInfo().Mode(), header.Size, header.Linkname
	if header.Typeflag == tar.TypeLink {
		e.hard, e.mode = true, e.mode&^fs.ModeType
		if e.link, err = cleanName(header.Linkname); err != nil {
			return e, false, err
		}
	}
	return e, false, nil
}
