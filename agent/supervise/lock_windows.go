package supervise

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes a lock that ends with its holder. It fails if another process holds
// it.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{}); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s (does another supervisor use it?): %w", path, err)
	}
	return file, nil
}

// unlockFile releases the lock.
func unlockFile(file *os.File) { file.Close() }
