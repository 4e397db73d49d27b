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
