package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The formats that Detect returns.
const (
	Zip   = "zip"
	Tar   = "tar"
	TarGz = "tar.gz"
)

// Limits limit what an archive may unpack to. Zero members mean the defaults.
type Limits struct {
	Files int   // entries; default 1,000,000
	Bytes int64 // total unpacked size; default 200 GiB
	Ratio int64 // unpacked bytes per packed byte, beyond the first MiB; default 200
}

func (l Limits) withDefaults() Limits {
	return Limits{Files: cmp.Or(l.Files, 1_000_000), Bytes: cmp.Or(l.Bytes, 200<<30), Ratio: cmp.Or(l.Ratio, 200)}
}

// Contents describes what an archive unpacks to.
type Contents struct {
	Files int   // files and links
	Bytes int64 // of the files
}

// Refused is the error for an archive that is not unpacked; its text is for the
// archive's author.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "the archive is refused: " + r.Reason }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// entry is one entry of an archive, with a cleaned name.
type entry struct {
	name string // slash-separated, within the folder
	mode fs.FileMode
	size int64 // as the archive states; -1 if it does not
	link string
	hard bool // link is another entry of the archive

	modeless bool // the archive does not say who may do what with it: it was made on Windows
}

// source is an archive whose entries can be enumerated.
type source interface {
	// each calls f with every entry; open returns its content and is valid during the
	// call.
	each(f func(e entry, open func() (io.Reader, error)) error) error
	// percent returns how much of the archive each has gone through.
	percent() int
}

// Detect determines the format from the file's first bytes.
func Detect(r io.ReaderAt) (string, error) {
	head := make([]byte, 512)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read archive: %w", err)
	}
	head = head[:n]
	switch {
	case len(head) >= 4 && (string(head[:4]) == "PK\x03\x04" || string(head[:4]) == "PK\x05\x06"):
		return Zip, nil
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return TarGz, nil
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return Tar, nil
	}
	return "", refuse("it is neither zip, tar nor tar.gz")
}

func open(r io.ReaderAt, size int64, format string) (source, error) {
	switch format {
	case Zip:
		return openZip(r, size)
	case Tar, TarGz:
		return &tarball{section: io.NewSectionReader(r, 0, size), packed: format == TarGz}, nil
	}
	return nil, refuse("format %q is unknown", format)
}

// Check examines an archive of size bytes. It reads every byte, so a damaged archive,
// or one with false sizes, is detected here. Errors: *Refused, and those of reading
// r.
func Check(r io.ReaderAt, size int64, format string, limits Limits) (Contents, error) {
	in := newInspector(size, limits)
	return in.contents(r, format, nil, func(e entry, open func() (io.Reader, error)) error {
		if !e.mode.IsRegular() || e.hard {
			return nil
		}
		content, err := open()
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, in.meter(content))
		return err
	})
}

// Extract unpacks an archive into dir, which must exist and should be empty. After an
// error dir is incomplete and should be removed. progress, which may be nil, is called
// after each entry with what has been unpacked, and with the percentage of the archive that is
// done. Errors: *Refused, and those of reading and writing.
//
// Files are executable if their mode says so. Archives made on Windows have no modes, and some
// programs lose them: an entry without a mode, and any of an archive in which no file is
// executable, is executable if its content is a program.
func Extract(r io.ReaderAt, size int64, format, dir string, limits Limits, progress func(done Contents, percent int)) (Contents, error) {
	target, err := os.OpenRoot(dir)
	if err != nil {
		return Contents{}, fmt.Errorf("open target folder: %w", err)
	}
	defer target.Close()
	in := newInspector(size, limits)
	w := writer{root: target, in: in}
	found, err := in.contents(r, format, progress, w.write)
	if err == nil {
		err = w.finish()
	}
	return found, err
}

// contents calls f with each entry that may be unpacked, and returns their totals. It
// fails at the first entry that may not.
func (in *inspector) contents(r io.ReaderAt, format string, progress func(Contents, int), f func(entry, func() (io.Reader, error)) error) (Contents, error) {
	src, err := open(r, in.packed, format)
	if err != nil {
		return Contents{}, err
	}
	err = src.each(func(e entry, open func() (io.Reader, error)) error {
		if err := in.admit(e); err != nil {
			return err
		}
		if err := f(e, open); err != nil {
			return err
		}
		if progress != nil {
			progress(Contents{in.files, in.bytes}, src.percent())
		}
		return nil
	})
	if err == nil {
		err = in.finish()
	}
	return Contents{in.files, in.bytes}, err
}
