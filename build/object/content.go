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
	*io.SectionReader
	parts   *contents
	release []func()
}

// Open opens an object's contents. They stay readable if the object is deleted in the
// meantime. Errors: NotFound (deleted just now).
func (s *Service) Open(o *Object) (*File, error) {
	all := &contents{blobs: s.blobs, refs: o.Parts}
	f := &File{SectionReader: io.NewSectionReader(all, 0, o.Size), parts: all}
	for _, p := range o.Parts {
		f.release = append(f.release, s.blobs.Pin(p.SHA256))
	}
	if now := s.Get(s.st.View(), o.Bucket, o.Key); now == nil || !slices.Equal(now.Parts, o.Parts) {
		f.Close()
		return nil, fault.Missing("Key: %s was deleted or replaced just now", o.Key)
	}
	return f, nil
}

// Has reports whether the contents of an object are all in the directory of contents.
func (s *Service) Has(o *Object) bool {
	return !slices.ContainsFunc(o.Parts, func(p blob.Ref) bool { return !s.blobs.Has(p.SHA256) })
}

// Close releases the contents.
func (f *File) Close() error {
	for _, release := range f.release {
		release()
	}
	f.release = nil
	if f.parts.open == nil {
		return nil
	}
	return f.parts.open.Close()
}

// contents reads the contents of an object one after another.
type contents struct {
	blobs  *blob.Store
	refs   []blob.Ref
	open   *os.File // of refs[number]
	number int
}

// ReadAt reads from an offset, across contents.
func (c *contents) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for i, part := range c.refs {
		if off >= part.Size {
			off -= part.Size
			continue
		}
		want := p[n:min(int64(len(p)), int64(n)+part.Size-off)]
		got, err := c.readPart(i, want, off)
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
func (c *contents) readPart(i int, p []byte, off int64) (int, error) {
	if c.open == nil || c.number != i {
		part, err := c.blobs.Open(c.refs[i].SHA256)
		if err != nil {
			return 0, err
		}
		if c.open != nil {
			c.open.Close()
		}
		c.open, c.number = part, i
	}
	n, err := c.open.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file is shorter than it was
	}
	return n, err
}
