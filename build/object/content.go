package object

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
)

// Content is a staged content: durable, and held until Settle.
type Content struct {
	blob.Ref
	MD5     string // hexadecimal
	objects *Service
	release func()
}

// Settle releases the content after the command that was to refer to it. It is
// removed if the command was refused and nothing else refers to it; if the outcome is
// uncertain, it stays, and the sweep decides. The command must have returned.
func (c *Content) Settle(err error) {
	c.release()
	f, ok := fault.As(err)
	if !ok || f.Kind == fault.InternalService {
		return
	}
	s := c.objects
	if _, err := s.blobs.Remove(c.SHA256, func() bool { return s.used(c.SHA256) }); err != nil {
		s.log.Error("a refused content was not removed", "sha256", c.SHA256, "error", err)
	}
}

// Stage reads a content to its end and makes it durable; the bytes are also written
// to sums. Errors: InvalidRequest (larger than limit, or than any object may be),
// LimitExceeded (no room on the disk), and those of r.
func (s *Service) Stage(r io.Reader, limit int64, sums ...hash.Hash) (*Content, error) {
	w, err := s.blobs.Create()
	if err != nil {
		return nil, full(err)
	}
	defer w.Abort()
	limit = min(limit, s.opts.MaxSize)
	sum := md5.New()
	to := []io.Writer{w, sum}
	for _, s := range sums {
		to = append(to, s)
	}
	n, err := io.Copy(io.MultiWriter(to...), io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, full(fmt.Errorf("receive content: %w", err))
	case n > limit:
		return nil, fault.Invalid("the content has more than %d bytes", limit)
	}
	ref, release, err := w.Finish()
	if err != nil {
		return nil, full(err)
	}
	return &Content{Ref: ref, MD5: hex.EncodeToString(sum.Sum(nil)), objects: s, release: release}, nil
}

// full converts the error of a full disk to a fault for callers.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.LimitExceeded, "there is no room left for it on the server's disk")
	}
	return err
}

// File reads an object, one content at a time, so that an object of many parts needs
// one descriptor. It must be used by one goroutine at a time, and closed.
type File struct {
	blobs   *blob.Store
	parts   []blob.Ref
	release []func()
	size    int64
	at      int64
	open    *os.File // of parts[number]
	number  int
}

// Open opens an object's contents. They stay readable if the object is deleted in the
// meantime. Errors: NotFound (deleted just now).
func (s *Service) Open(o *Object) (*File, error) {
	f := &File{blobs: s.blobs, parts: o.Parts, size: o.Size}
	for _, p := range o.Parts {
		f.release = append(f.release, s.blobs.Pin(p.SHA256))
	}
	if now := s.Get(s.st.View(), o.Bucket, o.Key); now == nil || !slices.Equal(now.Parts, o.Parts) {
		f.Close()
		return nil, fault.Missing("Key: %s was deleted or replaced just now", o.Key)
	}
	return f, nil
}

// Size returns the object's size in bytes.
func (f *File) Size() int64 { return f.size }

// Close releases the contents.
func (f *File) Close() error {
	for _, release := range f.release {
		release()
	}
	f.release = nil
	if f.open == nil {
		return nil
	}
	return f.open.Close()
}

// Read continues where the last Read or Seek ended.
func (f *File) Read(p []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), f.size-f.at)]
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	return n, err
}

// Seek sets where the next Read begins.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	f.at = offset
	return offset, nil
}

// ReadAt reads from an offset, across parts.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read before the beginning")
	}
	n := 0
	for i, part := range f.parts {
		if off >= part.Size {
			off -= part.Size
			continue
		}
		want := p[n:min(int64(len(p)), int64(n)+part.Size-off)]
		got, err := f.readPart(i, want, off)
		n += got
		if got < len(want) {
			return n, fmt.Errorf("read content %s: %w", part.SHA256, err)
		}
		if n == len(p) {
			return n, nil
		}
		off = 0
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readPart reads from one content, which stays open until another is needed.
func (f *File) readPart(i int, p []byte, off int64) (int, error) {
	if f.open == nil || f.number != i {
		part, err := f.blobs.Open(f.parts[i].SHA256)
		if err != nil {
			return 0, err
		}
		if f.open != nil {
			f.open.Close()
		}
		f.open, f.number = part, i
	}
	n, err := f.open.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file is shorter than it was
	}
	return n, err
}
