// Package backup copies a store to a file and back. A backup is a SQLite database
// regardless of the source engine, so it can be read with SQL tools, verified, and
// restored to either engine.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// Write backs up a store to a new file while its owner keeps running. from must be
// the driver that s was created with; s need not be open. The file appears complete
// or not at all.
func Write(ctx context.Context, s *store.Store, from store.Driver, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("back up: %s exists already", file)
	}
	part := file + ".part"
	if err := removeParts(part); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := write(ctx, s, from, part); err != nil {
		return errors.Join(fmt.Errorf("back up: %w", err), removeParts(part))
	}
	if err := os.Rename(part, file); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

func write(ctx context.Context, s *store.Store, from store.Driver, file string) error {
	if native, ok := from.(*sqlite.Driver); ok {
		return native.Backup(ctx, file)
	}
	return s.CopyTo(ctx, sqlite.File(file))
}

// removeParts removes what an interrupted backup left.
func removeParts(part string) error {
	for _, name := range []string{part, part + "-wal", part + "-shm", part + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Restore fills the database of s, which must be empty and must not be open, from a
// backup of this or an earlier release. If the database is not empty, the error wraps
// store.ErrNotEmpty. The backup itself is not changed.
func Restore(ctx context.Context, s *store.Store, file string) error {
	dir, err := os.MkdirTemp("", "muster-restore-")
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer os.RemoveAll(dir)
	own := filepath.Join(dir, "backup.db")
	if err := copyFile(own, file); err != nil {
		return fmt.Errorf("restore %s: %w", file, err)
	}
	if err := s.CopyFrom(ctx, sqlite.File(own)); err != nil {
		return fmt.Errorf("restore %s: %w", file, err)
	}
	return nil
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
