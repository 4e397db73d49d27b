package supervise

import (
	"io"
	"os"
)

// Lock locks a file for this process. It fails if another process holds the lock.
// Close releases it.
func Lock(path string) (io.Closer, error) {
	file, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	return locked{file}, nil
}

type locked struct{ file *os.File }

func (l locked) Close() error {
	unlockFile(l.file)
	return nil
}
