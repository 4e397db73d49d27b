package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/musterhq/muster/internal/archive"
)

// sound is what a sound archive holds.
type sound struct {
	Format string
	archive.Contents
}

// inspect reads a whole archive. An error is *archive.Refused where the archive
// is at fault; any other is one of reading, after which it may be tried again.
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

// source remembers what went wrong beneath an archive, which is not the
// archive's fault, and ends reading when ctx does, so that a stop need not wait
// for a large one.
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
