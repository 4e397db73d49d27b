// Package atomicfile replaces files so that readers see either the old or the new content,
// also after a crash.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// Write replaces a file, or creates it. The permissions are those of the new file. Only one
// Write of a file may run at a time.
func Write(path string, data []byte, mode fs.FileMode) error {
	next := path + ".new"
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		os.Remove(next)
	}
	return err
}
