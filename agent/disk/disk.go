// Package disk reads and writes the files in which an agent keeps its state for the
// next one.
package disk

import (
	"encoding/json"
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
