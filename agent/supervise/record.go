package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// record identifies the run. It is written with PID 0 before the launch and again after
// it, and removed when the end has been reported.
type record struct {
	ID      string    `json:"id"`
	PID     int       `json:"pid"`
	Birth   string    `json:"birth"` // distinguishes the process from a later one with its PID
	Started time.Time `json:"started"`
	Stdout  string    `json:"stdout"`
	Stderr  string    `json:"stderr"`
}

// records keeps a Supervisor's record in its StateDir.
type records struct{ dir string }

func (r records) path() string { return filepath.Join(r.dir, "slot-0.json") }

// write replaces the record atomically: a reader sees the old or the new one.
func (r records) write(rec record) error {
	content, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	if err := os.WriteFile(r.path()+".new", append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if err := os.Rename(r.path()+".new", r.path()); err != nil {
		return fmt.Errorf("replace record: %w", err)
	}
	return nil
}

func (r records) remove() error {
	if err := os.Remove(r.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}

// load returns the record, or nil if there is none. That it cannot be read is an error:
// ignoring it might start a duplicate.
func (r records) load() (*record, error) {
	content, err := os.ReadFile(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	var rec record
	if err := json.Unmarshal(content, &rec); err != nil {
		return nil, fmt.Errorf("read record %s: %w", r.path(), err)
	}
	if rec.ID == "" {
		return nil, fmt.Errorf("read record %s: it has no id", r.path())
	}
	return &rec, nil
}
