package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// private removes other users' access to a database and the files next to it, and
// creates the database if it does not exist: SQLite creates the others with its mode.
// An existing file is not opened, since closing it would release SQLite's locks.
func private(database string) error {
	if err := create(database); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make database: %w", err)
	}
	for _, path := range []string{database, database + "-wal", database + "-shm"} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path, info.Mode().Perm()&^0o077)
		}
		if err != nil {
			return fmt.Errorf("make database private: %w", err)
		}
	}
	return nil
}

// create creates a new, empty file that only its owner can read.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// syncFile syncs a finished file, so that it survives a power failure.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
