package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// farOffset keeps the locked byte clear of the text, which others must be able to
// read.
const farOffset = 1 << 30

// lockDirectory locks the directory for this process; the lock ends when the file is
// closed or the process ends.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	where := &windows.Overlapped{Offset: farOffset}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, where); err != nil {
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
