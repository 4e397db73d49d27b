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

// Writer takes the bytes of a content. End it with Finish or Abort.
type Writer struct {
	store *Store
	file  *os.File
	sum   hash.Hash
	size  int64
}

// Create begins a content.
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

// Write adds bytes.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// Abort forgets what was written. After Finish it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Close()
	os.Remove(w.file.Name())
	w.file = nil
}

// Finish makes the content durable and pins it: release must be called once
// what refers to it is durable, or nothing is going to.
func (w *Writer) Finish() (ref Ref, release func(), err error) {
	defer w.Abort()
	ref = Ref{hex.EncodeToString(w.sum.Sum(nil)), w.size}
	if err := w.file.Sync(); err != nil {
		return Ref{}, nil, fmt.Errorf("sync content: %w", err)
	}
	if err := w.file.Close(); err != nil {
		return Ref{}, nil, fmt.Errorf("close content: %w", err)
	}
	release = w.store.pin(ref.SHA256)
	if err := w.store.adopt(w.file.Name(), ref.SHA256); err != nil {
		release()
		return Ref{}, nil, err
	}
	return ref, release, nil
}

// adopt gives a whole file the name of its content.
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

// pin keeps a content from being removed until the function it gives is called.
func (s *Store) pin(sha string) (release func()) {
	s.mu.Lock()
	s.pins[sha]++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		if s.unpin(sha) {
			s.onSpared(sha)
		}
	})
}

// unpin takes one pin away and tells whether it was the last of a content whose
// removal it prevented.
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

// Pin keeps a content that is there from being removed until release is called.
func (s *Store) Pin(sha string) (release func()) { return s.pin(sha) }
