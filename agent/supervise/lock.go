package supervise

import (
	"io"
	"os"
)

// Lock takes a file's lock for this process, or fails because another has it.
// Close gives it up.
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
