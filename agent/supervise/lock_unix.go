//go:build unix

package supervise

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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

// unlock releases the lock, even if a process just being launched still has a copy of
// the file.
func unlock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_UN) }
