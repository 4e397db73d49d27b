package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/agent/disk"
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

// write replaces the record.
func (r records) write(rec record) error {
	if err := disk.Write(r.path(), rec); err != nil {
		return fmt.Errorf("write record: %w", err)
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
	var rec record
	err := disk.Read(r.path(), &rec)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record %s: %w", r.path(), err)
	}
	if rec.ID == "" {
		return nil, fmt.Errorf("read record %s: it has no id", r.path())
	}
	return &rec, nil
}
