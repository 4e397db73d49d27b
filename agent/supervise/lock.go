package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Lock locks a file for this process, or fails if another process has locked it. The lock
// is released by Close, or when the process ends.
func Lock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := tryLock(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s (does another supervisor use it?): %w", path, err)
	}
	return locked{file}, nil
}

type locked struct{ *os.File }

func (l locked) Close() error { return errors.Join(unlock(l.File), l.File.Close()) }
