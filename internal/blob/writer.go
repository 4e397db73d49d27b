package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Writer receives the bytes of a content. End it with Finish or Abort.
type Writer struct {
	store *Store
	file  *os.File
	sum   hash.Hash
	size  int64
}

// Create starts a content.
func (s *Store) Create() (*Writer, error) {
	dir := filepath.Join(s.dir, incoming)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory for contents: %w", err)
	}
	f, err := os.CreateTemp(dir, "*")
	if err != nil {
		return nil, fmt.Errorf("begin content: %w", err)
	}
	return &Writer{store: s, file: f, sum: sha256.New()}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// Abort discards what was written. After Finish it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Close()
	os.Remove(w.file.Name())
	w.file = nil
}

// Finish makes the content durable and pins it: release must be called when a
// reference to it is durable, or when there will be none.
func (w *Writer) Finish() (ref Ref, release func(), err error) {
	defer w.Abort()
	ref = Ref{hex.EncodeToString(w.sum.Sum(nil)), w.size}
	if err := w.file.Sync(); err != nil {
		return Ref{}, nil, fmt.Errorf("sync content: %w", err)
	}
	if err := w.file.Close(); err != nil {
		return Ref{}, nil, fmt.Errorf("close content: %w", err)
	}
	release = w.store.Pin(ref.SHA256)
	if err := w.store.adopt(w.file.Name(), ref.SHA256); err != nil {
		release()
		return Ref{}, nil, err
	}
	return ref, release, nil
}

// adopt renames a complete file to the name of its content.
func (s *Store) adopt(temporary, sha string) error {
	to := s.path(sha)
	dir := filepath.Dir(to)
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(s.dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory for contents: %w", err)
	}
	if err := os.Rename(temporary, to); err != nil {
		return fmt.Errorf("name content: %w", err)
	}
	return syncDir(dir)
}

// Pin prevents the removal of a content until release is called.
func (s *Store) Pin(sha string) (release func()) {
	s.mu.Lock()
	s.pins[sha]++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		if s.unpin(sha) {
			s.onSpared(sha)
		}
	})
}

// unpin removes one pin. It reports whether that was the last pin of a content whose
// removal was prevented.
func (s *Store) unpin(sha string) (spared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins[sha]--; s.pins[sha] > 0 {
		return false
	}
	delete(s.pins, sha)
	spared = s.spared[sha]
	delete(s.spared, sha)
	return spared
}
