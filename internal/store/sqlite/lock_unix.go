//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lockDirectory locks the directory for this process; the lock ends when the file is
// closed or the process ends.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		holder, _ := os.ReadFile(path)
		return nil, fmt.Errorf("data directory %s is in use by process %s: %w", dir, strings.TrimSpace(string(holder)), err)
	}
	if err := sign(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("write lock: %w", err)
	}
	return file, nil
}
