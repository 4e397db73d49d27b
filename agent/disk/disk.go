// Package disk reads and writes the files in which an agent keeps its state for the
// next one.
package disk

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/musterhq/muster/internal/atomicfile"
)

// Read decodes a JSON file. If there is none, the error wraps os.ErrNotExist.
func Read(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// Write replaces a JSON file atomically; only the agent's user may read it.
func Write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}

// WriteFor replaces a file atomically; besides the agent's user, the members of a group
// may read it. 0 means no group.
func WriteFor(path string, text []byte, gid int) error {
	if gid == 0 {
		return atomicfile.Write(path, text, 0o600)
	}
	next := path + ".next"
	err := atomicfile.Write(next, text, 0o600)
	if err == nil {
		err = errors.Join(os.Chown(next, -1, gid), os.Chmod(next, 0o640))
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		os.Remove(next)
	}
	return err
}

// MakeFolderFor creates a folder for files of WriteFor, unless it exists.
func MakeFolderFor(path string, gid int) error {
	if err := os.MkdirAll(path, 0o700); err != nil || gid == 0 {
		return err
	}
	return errors.Join(os.Chown(path, -1, gid), os.Chmod(path, 0o750))
}
