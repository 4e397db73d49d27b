package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Sweep removes contents that are not used and what interrupted writers left, if
// written before a time: younger files may be about to be referred to. It returns how
// many files and bytes it removed.
func (s *Store) Sweep(before time.Time, used func(sha string) bool) (files int, bytes int64, err error) {
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.ModTime().Before(before) {
			return err
		}
		gone, err := s.discard(path, used)
		if gone {
			files++
			bytes += info.Size()
		}
		return err
	})
	return files, bytes, err
}

// discard removes a temporary file, or a content that is not used. Other files stay.
func (s *Store) discard(path string, used func(string) bool) (bool, error) {
	if filepath.Dir(path) == filepath.Join(s.dir, incoming) {
		err := os.Remove(path)
		return err == nil, err
	}
	sha := filepath.Base(path)
	if !valid(sha) || path != s.path(sha) {
		return false, nil
	}
	return s.Remove(sha, func() bool { return used(sha) })
}
