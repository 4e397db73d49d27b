//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile takes a lock that ends with its holder. It fails if another process holds
// it.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := tryLock(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s (does another supervisor use it?): %w", path, err)
	}
	return file, nil
}

// lockTries, 10 ms apart, outlast the moment between fork and exec in which the child
// of a killed supervisor still has a copy of its lock. That delay is useful: the new
// holder of the lock then finds the child with its own program and environment.
const lockTries = 100

func tryLock(file *os.File) error {
	for tries := 1; ; tries++ {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) || tries == lockTries {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// unlockFile releases the lock, even if a process just being launched still has a
// copy of the file.
func unlockFile(file *os.File) {
	_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
	file.Close()
}
