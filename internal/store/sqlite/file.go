package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockDirectory locks the directory for this process and writes its id into the lock
// file; the lock ends when the file is closed or the process ends.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := lock(file); err != nil {
		file.Close()
		holder, _ := os.ReadFile(path)
		return nil, fmt.Errorf("data directory %s is in use by process %s: end that process, or choose another directory with --data (%w)", dir, strings.TrimSpace(string(holder)), err)
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("write lock: %w", err)
	}
	return file, nil
}

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
