package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Ref identifies a content.
type Ref struct {
	SHA256 string `json:"sha256"` // lower case hexadecimal
	Size   int64  `json:"size"`   // bytes
}

// Store is a directory of contents. It is safe for concurrent use within one process.
type Store struct {
	dir string

	mu       sync.Mutex      // guards what follows, and adding against removing
	pins     map[string]int  // contents just added and not yet referred to, or being read
	spared   map[string]bool // contents whose removal a pin prevented
	onSpared func(sha string)
}

// New returns the store in a directory, which is created with the first content.
func New(dir string) *Store {
	return &Store{dir: dir, pins: map[string]int{}, spared: map[string]bool{}, onSpared: func(string) {}}
}

// OnSpared registers f to be called when the last pin is released on a content whose
// removal a pin prevented, so that the removal can be tried again. f runs on the
// goroutine that released the pin and must not block. Call OnSpared before the store
// is used.
func (s *Store) OnSpared(f func(sha string)) { s.onSpared = f }

// incoming is the directory of contents that are being written.
const incoming = "incoming"

// ErrMissing reports that a content's file does not exist: it was lost, or is on
// another machine.
var ErrMissing = errors.New("the content is not in this directory")

// Open opens a content for reading. Errors: ErrMissing.
func (s *Store) Open(sha string) (*os.File, error) {
	if !valid(sha) {
		return nil, fmt.Errorf("open content %q: %w", sha, ErrMissing)
	}
	f, err := os.Open(s.path(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open content %s in %s: %w", sha, s.dir, ErrMissing)
	}
	return f, err
}

// Has reports whether a content is in the directory. It is taken for there if that cannot be seen.
func (s *Store) Has(sha string) bool {
	if !valid(sha) {
		return false
	}
	_, err := os.Stat(s.path(sha))
	return !errors.Is(err, fs.ErrNotExist)
}

// Remove deletes a content unless it is pinned or used returns true, and reports
// whether it did. If a pin prevented it, the function given to OnSpared is called
// when to try again.
func (s *Store) Remove(sha string, used func() bool) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !valid(sha) {
		return false, nil
	}
	if s.pins[sha] > 0 {
		s.spared[sha] = true
		return false, nil
	}
	if used() {
		return false, nil
	}
	err := os.Remove(s.path(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// path spreads contents over 256 directories.
func (s *Store) path(sha string) string { return filepath.Join(s.dir, sha[:2], sha) }

// valid reports whether a name is a SHA-256, so that no other file is touched.
func valid(sha string) bool {
	if len(sha) != 64 {
		return false
	}
	for i := range len(sha) {
		if c := sha[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
