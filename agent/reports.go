package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/hosts/protocol"
)

// maxReports bounds the reports that wait for Muster; beyond it the oldest are dropped.
const maxReports = 10000

// reports are the reports of ended processes that Muster has not acknowledged, on disk.
type reports struct {
	dir string

	mu      sync.Mutex
	pending []protocol.Exited // by Seq
	last    uint64
}

// openReports reads the reports that a former agent left.
func openReports(dir string) (*reports, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open reports: %w", err)
	}
	r := &reports{dir: dir}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("open reports: %w", err)
	}
	for _, path := range paths {
		var e protocol.Exited
		if err := disk.Read(path, &e); err != nil {
			return nil, fmt.Errorf("read report %s: %w", path, err)
		}
		r.pending = append(r.pending, e)
		r.last = max(r.last, e.Seq)
	}
	slices.SortFunc(r.pending, func(a, b protocol.Exited) int { return cmp.Compare(a.Seq, b.Seq) })
	return r, nil
}

func (r *reports) path(seq uint64) string {
	return filepath.Join(r.dir, fmt.Sprintf("%020d.json", seq))
}

// add stores a report. Its number is higher than those of any former agent here.
func (r *reports) add(e protocol.Exited) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq = max(r.last+1, uint64(time.Now().UnixNano()))
	r.last = e.Seq
	if len(r.pending) >= maxReports {
		_ = os.Remove(r.path(r.pending[0].Seq))
		r.pending = r.pending[1:]
	}
	r.pending = append(r.pending, e)
	if err := disk.Write(r.path(e.Seq), e); err != nil {
		return fmt.Errorf("keep report: %w", err) // it is still in memory, and sent
	}
	return nil
}

// after returns the reports with numbers above seq, oldest first.
func (r *reports) after(seq uint64) []protocol.Exited {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, _ := slices.BinarySearchFunc(r.pending, seq+1, func(e protocol.Exited, s uint64) int { return cmp.Compare(e.Seq, s) })
	return slices.Clone(r.pending[at:])
}

// ack removes a report.
func (r *reports) ack(seq uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = slices.DeleteFunc(r.pending, func(e protocol.Exited) bool { return e.Seq == seq })
	if err := os.Remove(r.path(seq)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget report: %w", err)
	}
	return nil
}

// maxReport bounds a report in bytes.
const maxReport = 512 << 10

// fits shortens a report to that.
func fits(e protocol.Exited) protocol.Exited {
	for len(e.Tail) > 0 {
		if text, err := json.Marshal(e); err == nil && len(text) < maxReport {
			break
		}
		e.Tail = e.Tail[1:]
	}
	return e
}
