package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/archive"
	"github.com/musterhq/muster/internal/store"
)

// Run checks archives when they arrive, fails builds that waited too long and removes
// deleted ones, until ctx ends.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// next returns when there is something to do.
func (s *Service) next() time.Time {
	view := s.st.View()
	if s.t.unchecked.FirstPrefix(view, "") != nil || s.purgeable(view) {
		return time.Now()
	}
	return s.t.due.NextDue(view)
}

func (s *Service) purgeable(r store.Reader) bool {
	for b := range s.t.deleted.Equal(r, "") {
		if s.removable(r, b) {
			return true
		}
	}
	return false
}

// work does what is due, checking one archive at a time.
func (s *Service) work(ctx context.Context) error {
	if err := s.cmd.overdue.Do(ctx, struct{}{}); err != nil {
		return err
	}
	if err := s.cmd.purge.Do(ctx, struct{}{}); err != nil {
		return err
	}
	b := s.t.unchecked.FirstPrefix(s.st.View(), "")
	if b == nil {
		return nil
	}
	if err := s.examine(ctx, b); err != nil {
		return fmt.Errorf("read the archive of build %s: %w", b.ID, err)
	}
	return nil
}

// runOverdue fails builds whose archive did not arrive in time.
func (s *Service) runOverdue(tx *store.Tx, _ struct{}) error {
	for b := range s.t.due.Due(tx, tx.Now()) {
		b = b.clone()
		s.fail(tx, b, "its archive was not received within "+s.opts.UploadTime.String())
		s.t.builds.Put(tx, b)
	}
	return nil
}

// verdict is the result of examining an archive.
type verdict struct {
	BuildID string
	Refused string // why it is not sound
	Archive sound
	SHA256  string
	Size    int64
}

// examine reads a build's archive and settles the build.
func (s *Service) examine(ctx context.Context, b *Build) error {
	at := s.Place(b)
	o := s.objects.Get(s.st.View(), at.Bucket, at.Key)
	if o == nil {
		return s.cmd.settle.Do(ctx, verdict{BuildID: b.ID, Refused: "its archive is gone"})
	}
	file, err := s.objects.Open(o)
	if err != nil {
		return err
	}
	defer file.Close()
	v := verdict{BuildID: b.ID, SHA256: o.SHA256(), Size: o.Size}
	v.Archive, err = inspect(ctx, file, o.Size, s.opts.Limits)
	if refusal, ok := errors.AsType[*archive.Refused](err); ok {
		v.Refused = refusal.Reason
	} else if err != nil {
		return err
	}
	if v.SHA256 == "" && v.Refused == "" {
		if v.SHA256, err = sum(ctx, file, o.Size); err != nil {
			return err
		}
	}
	return s.cmd.settle.Do(ctx, v)
}

// runSettle makes a build READY or FAILED, if it is still INITIALIZED.
func (s *Service) runSettle(tx *store.Tx, v verdict) error {
	b := s.visible(tx, v.BuildID)
	if b == nil || b.Status != Initialized {
		return nil
	}
	b = b.clone()
	if v.Refused != "" {
		s.fail(tx, b, v.Refused)
		at := s.Place(b)
		s.objects.DeleteIn(tx, at.Bucket, at.Key)
	} else {
		b.move(Ready)
		b.Format, b.SHA256, b.Size = v.Archive.Format, v.SHA256, v.Size
		b.Files, b.Unpacked = v.Archive.Files, v.Archive.Bytes
		s.record(tx, event.BuildReady, b.ID,
			fmt.Sprintf("Build %s is READY: %d files, %d bytes packed, %d unpacked", b.ID, b.Files, b.Size, b.Unpacked))
	}
	s.t.builds.Put(tx, b)
	return nil
}

func (s *Service) fail(tx *store.Tx, b *Build, reason string) {
	b.move(Failed)
	b.Reason = reason
	s.log.Info("build failed", "build_id", b.ID, "reason", reason)
	s.record(tx, event.BuildFailed, b.ID, "Build "+b.ID+" FAILED: "+reason)
}

// sound describes a sound archive.
type sound struct {
	Format string
	archive.Contents
}

// inspect reads a whole archive. The error is *archive.Refused if the archive is at
// fault; any other error is one of reading and may be retried.
func inspect(ctx context.Context, r io.ReaderAt, size int64, limits archive.Limits) (sound, error) {
	from := &source{ctx: ctx, r: r}
	if size == 0 {
		return sound{}, &archive.Refused{Reason: "it has no bytes"}
	}
	format, err := archive.Detect(from)
	var contents archive.Contents
	if err == nil {
		contents, err = archive.Check(from, size, format, limits)
	}
	if from.err != nil {
		return sound{}, fmt.Errorf("read archive: %w", from.err)
	}
	return sound{format, contents}, err
}

// source remembers errors of reading, which are not the archive's fault, and stops
// reading when ctx ends, so that a stop need not wait for a large archive.
type source struct {
	ctx context.Context
	r   io.ReaderAt
	err error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := 0, s.ctx.Err()
	if err == nil {
		n, err = s.r.ReadAt(p, off)
	}
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

func sum(ctx context.Context, r io.ReaderAt, size int64) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(&source{ctx: ctx, r: r}, 0, size)); err != nil {
		return "", fmt.Errorf("hash archive: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
