//go:build unix

package supervise

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes a lock that ends with the holder; an error if another holds it.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s (does another supervisor use it?): %w", path, err)
	}
	return file, nil
}

// unlockFile gives the lock up, also if a process just being launched still has a
// copy of the file.
func unlockFile(file *os.File) {
	_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
	file.Close()
}
