package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// record identifies the run in a slot. It is written with PID 0 before the launch and
// again after it, and removed when the end has been reported.
type record struct {
	ID      string    `json:"id"`
	Slot    int       `json:"slot"`
	PID     int       `json:"pid"`
	Birth   string    `json:"birth"` // distinguishes the process from a later one with its PID
	Started time.Time `json:"started"`
	Stdout  string    `json:"stdout"`
	Stderr  string    `json:"stderr"`
}

// records are a Group's records in its StateDir.
type records struct{ dir string }

func (r records) path(slot int) string {
	return filepath.Join(r.dir, fmt.Sprintf("slot-%d.json", slot))
}

// write replaces a slot's record atomically: a reader sees the old or the new one.
func (r records) write(rec record) error {
	content, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	path := r.path(rec.Slot)
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace record: %w", err)
	}
	return nil
}

func (r records) remove(slot int) error {
	if err := os.Remove(r.path(slot)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}

// load returns all records by slot. A record that cannot be read is an error:
// ignoring it might start a duplicate.
func (r records) load() ([]record, error) {
	paths, err := filepath.Glob(filepath.Join(r.dir, "slot-*.json"))
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	var all []record
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read record: %w", err)
		}
		var rec record
		if err := json.Unmarshal(content, &rec); err != nil {
			return nil, fmt.Errorf("read record %s: %w", path, err)
		}
		if path != r.path(rec.Slot) || rec.Slot < 0 || rec.Slot >= maxCount || rec.ID == "" {
			return nil, fmt.Errorf("read record %s: its slot or id is wrong", path)
		}
		all = append(all, rec)
	}
	slices.SortFunc(all, func(a, b record) int { return a.Slot - b.Slot })
	return all, nil
}
