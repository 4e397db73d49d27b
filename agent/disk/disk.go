// Package disk reads and writes the files in which an agent keeps its state for the
// next one.
package disk

import (
	"encoding/json"
	"errors"
	"os"
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
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
